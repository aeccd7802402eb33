from apportion_policy import Queue

VISION = Queue(id="vision", namespaces=("vision",))
