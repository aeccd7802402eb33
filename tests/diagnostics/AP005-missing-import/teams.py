from apportion_policy import Queue, Resources

VISION = Queue(id="vision", guaranteed=Resources(gpu=8))
