package conformance

import (
	"strings"

	dto "github.com/prometheus/client_model/go"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

const prefix = "workqueue_"

// sampled are the gauges that a ticker sets. They say how far the ticker is, not what the queue did, and one of them is
// a sum in random order.
var sampled = map[string]bool{"unfinished_work_seconds": true, "longest_running_processor_seconds": true}

// gather reads the metrics of all queues, by queue name. Both kinds of queue count through controller-runtime.
func gather() (map[string]map[string]float64, error) {
	families, err := metrics.Registry.Gather()
	if err != nil {
		return nil, err
	}
	all := map[string]map[string]float64{}
	for _, f := range families {
		name, ok := strings.CutPrefix(f.GetName(), prefix)
		if !ok || sampled[name] {
			continue
		}
		for _, m := range f.GetMetric() {
			queue, priority := labels(m)
			if all[queue] == nil {
				all[queue] = map[string]float64{}
			}
			put(all[queue], name+priority, m)
		}
	}
	return all, nil
}

// labels returns the queue's name and the priority in braces. The classic queue's priority is empty and left out.
func labels(m *dto.Metric) (queue, priority string) {
	for _, l := range m.GetLabel() {
		switch l.GetName() {
		case "name":
			queue = l.GetValue()
		case "priority":
			if l.GetValue() != "" {
				priority = "{" + l.GetValue() + "}"
			}
		}
	}
	return queue, priority
}

// put enters a metric's value, or the sum and count of a histogram.
func put(into map[string]float64, name string, m *dto.Metric) {
	switch {
	case m.GetGauge() != nil:
		into[name] = m.GetGauge().GetValue()
	case m.GetCounter() != nil:
		into[name] = m.GetCounter().GetValue()
	case m.GetHistogram() != nil:
		into[name+"_sum"] = m.GetHistogram().GetSampleSum()
		into[name+"_count"] = float64(m.GetHistogram().GetSampleCount())
	}
}
