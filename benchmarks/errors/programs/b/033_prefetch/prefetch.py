import queue
import threading


class Prefetcher:
    """Fills a queue in the background; an error of the source is raised at the consumer."""

    END = object()

    def __init__(self, source, depth=4):
        self.queue = queue.Queue(depth)
        self.thread = threading.Thread(target=self._fill, args=(source,), daemon=True)
        self.thread.start()

    def _fill(self, source):
        try:
            for item in source:
                self.queue.put(item)
        except Exception as err:
            self.queue.put(err)
        finally:
            self.queue.put(self.END)

    def __iter__(self):
        waits = 0
        while True:
            try:
                item = self.queue.get(timeout=0.02)
            except queue.Empty:
                waits += 1
                continue
            if item is self.END:
                return
            if isinstance(item, Exception):
                raise item
            yield item
