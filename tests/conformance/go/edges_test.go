package conformance

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
)

// byHand is a short sequence that is not drawn.
type byHand func(q priorityqueue.PriorityQueue[string], w *workers)

// inBubble plays a sequence on a fresh queue and returns what getters received, in order.
func inBubble(t *testing.T, kind, name string, sequence byHand) []string {
	var out []string
	synctest.Test(t, func(t *testing.T) {
		var q priorityqueue.PriorityQueue[string]
		if kind == kindClassic {
			q, _ = newClassic(name, synctest.Wait)
		} else {
			q = newPriority(name)
		}
		w := newWorkers(q)
		sequence(q, w)
		synctest.Wait()
		var err error
		if out, err = w.collect(); err != nil {
			t.Fatal(err)
		}
		if !q.ShuttingDown() {
			q.ShutDown()
		}
		synctest.Wait()
	})
	return out
}

// both runs a test on each kind of queue.
func both(t *testing.T, test func(t *testing.T, kind string)) {
	for _, kind := range []string{kindPriority, kindClassic} {
		t.Run(kind, func(t *testing.T) { test(t, kind) })
	}
}

// waitFor lets n getters wait, one after the other.
func waitFor(w *workers, n int) {
	for range n {
		w.start()
		synctest.Wait()
	}
}

func expect(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("getters received %v, not %v", got, want)
	}
}

// What collect says of the order is the order: three getters wait, and three keys come in one call.
func TestOrderOfHandOffIsSeen(t *testing.T) {
	both(t, func(t *testing.T, kind string) {
		expect(t, inBubble(t, kind, "", func(q priorityqueue.PriorityQueue[string], w *workers) {
			waitFor(w, 3)
			q.AddWithOpts(priorityqueue.AddOpts{}, "c", "a", "b")
		}), "c@0", "a@0", "b@0")
	})
}

func TestShutDownTwice(t *testing.T) {
	both(t, func(t *testing.T, kind string) {
		inBubble(t, kind, "", func(q priorityqueue.PriorityQueue[string], _ *workers) {
			q.ShutDown()
			defer func() {
				if panicked := recover() != nil; panicked != (kind == kindPriority) {
					t.Errorf("the second shut-down panicked: %v", panicked)
				}
			}()
			q.ShutDown()
		})
	})
}

// The priority queue drops what is ready; the classic queue hands it out first. Both drop what is delayed.
func TestShutDownWithKeysLeft(t *testing.T) {
	want := map[string][]string{kindPriority: {told, told}, kindClassic: {"a@0", told}}
	both(t, func(t *testing.T, kind string) {
		expect(t, inBubble(t, kind, "", func(q priorityqueue.PriorityQueue[string], w *workers) {
			q.Add("a")
			q.AddAfter("b", time.Second)
			synctest.Wait()
			q.ShutDown()
			time.Sleep(time.Minute)
			waitFor(w, 2)
		}), want[kind]...)
	})
}

// Work that ends after the shut-down is still observed; the depth stays at what is left in the queue.
func TestMetricsAfterShutDown(t *testing.T) {
	both(t, func(t *testing.T, kind string) {
		name := newName()
		inBubble(t, kind, name, func(q priorityqueue.PriorityQueue[string], w *workers) {
			q.AddWithOpts(priorityqueue.AddOpts{}, "a", "b")
			synctest.Wait()
			waitFor(w, 1)
			q.ShutDown()
			time.Sleep(2 * time.Second)
			q.Done("a")
			q.Add("c")
		})
		all, err := gather()
		if err != nil {
			t.Fatal(err)
		}
		depth := map[string]string{kindPriority: "depth{0}", kindClassic: "depth"}[kind]
		for metric, want := range map[string]float64{
			depth: 1, "adds_total": 2, "work_duration_seconds_sum": 2, "work_duration_seconds_count": 1,
		} {
			if got := all[name][metric]; got != want {
				t.Errorf("%s is %v, not %v", metric, got, want)
			}
		}
	})
}

// Equal ready times: the priority queue keeps the order of the adds, the classic queue that of its heap.
func TestOrderOfSimultaneousExpiries(t *testing.T) {
	want := map[string][]string{
		kindPriority: {"a@0", "b@0", "c@0", "d@0", "e@0"},
		kindClassic:  {"a@0", "e@0", "d@0", "c@0", "b@0"},
	}
	both(t, func(t *testing.T, kind string) {
		expect(t, inBubble(t, kind, "", func(q priorityqueue.PriorityQueue[string], w *workers) {
			waitFor(w, 5)
			q.AddWithOpts(priorityqueue.AddOpts{After: time.Second}, "a", "b", "c", "d", "e")
			synctest.Wait()
			time.Sleep(time.Second)
		}), want[kind]...)
	})
}

// A key that is added again while it is held counts in the priority queue's length, not in the classic queue's.
func TestLenWithHeldKey(t *testing.T) {
	both(t, func(t *testing.T, kind string) {
		inBubble(t, kind, "", func(q priorityqueue.PriorityQueue[string], w *workers) {
			q.Add("a")
			synctest.Wait()
			waitFor(w, 1)
			q.Add("a")
			synctest.Wait()
			if got, want := q.Len(), map[string]int{kindPriority: 1}[kind]; got != want {
				t.Errorf("length is %d, not %d", got, want)
			}
		})
	})
}

// The histograms start anew, count and sum and all, an hour or more after they began, once waiting times fall into more
// than a hundred of their native buckets. Counters go on. No stored trace comes that far, as TestTraces makes sure.
func TestHistogramsStartAnew(t *testing.T) {
	both(t, func(t *testing.T, kind string) {
		name, rounds := newName(), 0
		inBubble(t, kind, name, func(q priorityqueue.PriorityQueue[string], w *workers) {
			for wait := time.Microsecond; wait < 20*time.Minute; wait += wait / 20 {
				q.Add("a")
				synctest.Wait()
				time.Sleep(wait)
				waitFor(w, 1)
				q.Done("a")
				synctest.Wait()
				if _, err := w.collect(); err != nil {
					t.Fatal(err)
				}
				w.release(0)
				rounds++
			}
		})
		all, err := gather()
		if err != nil {
			t.Fatal(err)
		}
		if got := all[name]["adds_total"]; got != float64(rounds) {
			t.Errorf("%v adds were counted in %d rounds", got, rounds)
		}
		if got := all[name]["queue_duration_seconds_count"]; got >= float64(rounds) {
			t.Errorf("%v waiting times were observed in %d rounds, all of them", got, rounds)
		} else {
			t.Logf("%v of %d waiting times are left", got, rounds)
		}
	})
}
