from apportion_policy import Queue, Resources

vision = Queue(id="vision", guaranteed=Resources(gpu=8))
speech = Queue(id="speech", guaranteed=Resources(gpu=4))
