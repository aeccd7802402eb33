"""Raw manifests, whoever wrote them: read with their lines, and judged by the rules of the engines they are for."""
