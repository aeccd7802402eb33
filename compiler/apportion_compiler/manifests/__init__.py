"""Raw manifests, whoever wrote them: read with their lines, and evaluated by the rules of the engines they are for."""
