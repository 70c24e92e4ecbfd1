package conformance

import (
	"slices"
	"strconv"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
)

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

// recordingLimiter passes every question on and notes the answers.
type recordingLimiter struct {
	workqueue.TypedRateLimiter[string]
	delays []int64
}

func (l *recordingLimiter) When(key string) time.Duration {
	d := l.TypedRateLimiter.When(key)
	l.delays = append(l.delays, d.Nanoseconds())
	return d
}

// newPriority makes the priority queue with the limiter that a controller gives it.
func newPriority(name string) priorityqueue.PriorityQueue[string] {
	return priorityqueue.New(name, func(o *priorityqueue.Opts[string]) {
		o.RateLimiter = workqueue.NewTypedItemExponentialFailureRateLimiter[string](5*time.Millisecond, 1000*time.Second)
	})
}

// recordingFIFO is the classic queue's own list, which also notes what leaves it. Pop is called under the queue's lock.
type recordingFIFO struct {
	workqueue.Queue[string]
	popped []string
}

func (f *recordingFIFO) Pop() string {
	key := f.Queue.Pop()
	f.popped = append(f.popped, key)
	return key
}

// classic gives the classic queue the priority queue's interface, by the rules of the wrapper that controllers use:
// a rate limited add ignores the delay, and priorities are ignored.
type classic struct {
	workqueue.TypedRateLimitingInterface[string]
	fifo *recordingFIFO
	// settle runs after each key of an add. Without it, whether a waiting getter takes a key before the next one is
	// added would depend on the scheduler.
	settle func()
}

// newClassic makes the classic queue with the limiter that a controller gives it. The parts are put together by hand
// for the sake of the recording list; they are those that NewTypedRateLimitingQueueWithConfig makes from a name alone.
func newClassic(name string, settle func()) (*classic, *recordingLimiter) {
	limiter := &recordingLimiter{TypedRateLimiter: workqueue.DefaultTypedControllerRateLimiter[string]()}
	fifo := &recordingFIFO{Queue: workqueue.DefaultQueue[string]()}
	base := workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[string]{Name: name, Queue: fifo})
	delaying := workqueue.NewTypedDelayingQueueWithConfig(
		workqueue.TypedDelayingQueueConfig[string]{Name: name, Queue: base})
	limited := workqueue.NewTypedRateLimitingQueueWithConfig(
		limiter, workqueue.TypedRateLimitingQueueConfig[string]{Name: name, DelayingQueue: delaying})
	return &classic{TypedRateLimitingInterface: limited, fifo: fifo, settle: settle}, limiter
}

// AddWithOpts adds the keys one by one.
func (c *classic) AddWithOpts(o priorityqueue.AddOpts, keys ...string) {
	for _, key := range keys {
		switch {
		case o.RateLimited:
			c.AddRateLimited(key)
		case o.After > 0:
			c.AddAfter(key, o.After)
		default:
			c.Add(key)
		}
		c.settle()
	}
}

// GetWithPriority is Get; the classic queue knows no priorities.
func (c *classic) GetWithPriority() (string, int, bool) {
	key, down := c.Get()
	return key, 0, down
}

// order says where in the order of hand-off a key came.
func (c *classic) order(key string) int { return slices.Index(c.fifo.popped, key) }
