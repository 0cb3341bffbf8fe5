import threading, time
def loop():
    lock = threading.Lock()
    lock.acquire()
    print("waiting", flush=True)
    lock.acquire()
loop()
