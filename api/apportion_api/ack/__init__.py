"""ACK's ElasticQuotaTree and kube-queue's Queue. Source: koordinator-sh/koord-queue at 298e9a8c."""
