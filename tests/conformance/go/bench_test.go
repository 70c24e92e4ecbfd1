package conformance

import (
	"testing"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
)

// keysPerRound is how many keys one iteration of the benchmark adds, gets and gives back.
const keysPerRound = 1000

// BenchmarkAddGetDone adds distinct keys, then gets each and gives it back, all from one goroutine, in real time. The
// queues have no name and so count no metrics.
func BenchmarkAddGetDone(b *testing.B) {
	b.Run(kindPriority, func(b *testing.B) { addGetDone(b, newPriority("")) })
	b.Run(kindClassic, func(b *testing.B) { addGetDone(b, plainClassic()) })
}

func addGetDone(b *testing.B, q priorityqueue.PriorityQueue[string]) {
	defer q.ShutDown()
	keys := make([]string, keysPerRound)
	for i := range keys {
		keys[i] = "k" + itoa(int64(i))
	}
	b.ReportAllocs()
	for b.Loop() {
		for _, key := range keys {
			q.Add(key)
		}
		for range keys {
			key, _, _ := q.GetWithPriority()
			q.Done(key)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/keysPerRound, "ns/key")
}

// plainClassic is the classic queue without anything that records.
func plainClassic() priorityqueue.PriorityQueue[string] {
	return &classic{TypedRateLimitingInterface: workqueue.NewTypedRateLimitingQueueWithConfig(
		workqueue.DefaultTypedControllerRateLimiter[string](), workqueue.TypedRateLimitingQueueConfig[string]{})}
}
