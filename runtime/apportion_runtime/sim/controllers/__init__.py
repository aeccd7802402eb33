"""The controllers of a simulated cluster: workloads and their pods, CronJobs, Ray and HorizontalPodAutoscalers."""
