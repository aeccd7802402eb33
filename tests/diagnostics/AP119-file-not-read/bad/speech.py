from apportion_policy import Queue

SPEECH = Queue(id="speech", namespaces=("speech",))
