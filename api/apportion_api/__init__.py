"""The API objects of Kubernetes' schedulers as typed values, shared by the compiler and the runtime."""
