package main

import "sync"

// cache makes what is asked for once and keeps it. The zero cache is empty; it is
// safe for concurrent use.
type cache[K comparable, V any] struct {
	mu   sync.Mutex
	kept map[K]func() (V, error)
}

func (c *cache[K, V]) get(key K, produce func() (V, error)) (V, error) {
	c.mu.Lock()
	if c.kept == nil {
		c.kept = map[K]func() (V, error){}
	}
	once, found := c.kept[key]
	if !found {
		once = sync.OnceValues(produce)
		c.kept[key] = once
	}
	c.mu.Unlock()
	return once()
}
