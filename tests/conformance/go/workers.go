package conformance

import (
	"cmp"
	"fmt"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
)

// handOff is what one getter received.
type handOff struct {
	ticket   int
	key      string
	priority int
	down     bool
}

func (h handOff) String() string {
	if h.down {
		return told
	}
	return fmt.Sprintf("%s@%d", h.key, h.priority)
}

// workers are the getters of one queue: those that wait, and the keys of those that were served.
type workers struct {
	queue    priorityqueue.PriorityQueue[string]
	received chan handOff
	tickets  int
	waiting  int
	held     []string
	served   int
}

func newWorkers(q priorityqueue.PriorityQueue[string]) *workers {
	// Room for every getter that can wait at once: they must never block on telling what they received.
	return &workers{queue: q, received: make(chan handOff, 64)}
}

// start lets one more getter wait.
func (w *workers) start() {
	ticket := w.tickets
	w.tickets++
	w.waiting++
	go func() {
		key, priority, down := w.queue.GetWithPriority()
		w.received <- handOff{ticket, key, priority, down}
	}()
}

// collect returns what getters have received since the last call, in the order of hand-off. It is called when the
// queue has settled.
//
// The priority queue sends keys through a channel at which all getters stand in line, and a channel serves them first
// come, first served; so the order of the getters is the order of the keys. The classic queue wakes getters who then
// take a key each as they come, so there the list tells the order.
func (w *workers) collect() ([]string, error) {
	var got []handOff
	for len(w.received) > 0 {
		got = append(got, <-w.received)
	}
	slices.SortFunc(got, func(a, b handOff) int {
		if c, ok := w.queue.(*classic); ok && !a.down && !b.down {
			return cmp.Compare(c.order(a.key), c.order(b.key))
		}
		return cmp.Compare(a.ticket, b.ticket)
	})
	if c, ok := w.queue.(*classic); ok {
		c.fifo.popped = nil
	}
	var out []string
	for _, h := range got {
		if h.down && h.key != "" {
			return nil, fmt.Errorf("getter %d was told to stop and given %q", h.ticket, h.key)
		}
		if !h.down {
			if slices.Contains(w.held, h.key) {
				return nil, fmt.Errorf("%q was handed out twice", h.key)
			}
			w.held = append(w.held, h.key)
			w.served++
		}
		w.waiting--
		out = append(out, h.String())
	}
	return out, nil
}

// release forgets a held key; the caller tells the queue.
func (w *workers) release(i int) string {
	key := w.held[i]
	w.held = slices.Delete(w.held, i, i+1)
	return key
}
