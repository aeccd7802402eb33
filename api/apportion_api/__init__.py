"""The API objects of Kubernetes' schedulers as typed values: one reading that the compiler and the runtime share."""
