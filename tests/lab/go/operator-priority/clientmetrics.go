package main

import (
	"context"
	"net/url"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	clientmetrics "k8s.io/client-go/tools/metrics"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
)

// latency feeds one histogram of client-go's with the labels verb and host.
type latency struct{ histogram *prometheus.HistogramVec }

func (l latency) Observe(_ context.Context, verb string, u url.URL, took time.Duration) {
	l.histogram.WithLabelValues(verb, u.Host).Observe(took.Seconds())
}

// observeClient exports what KubeRay exports about its client since 1.7.
// client-go takes a set of metrics only once, and controller-runtime has
// given it one; so its variables are set, before any client is made.
func observeClient() {
	clientmetrics.RequestLatency = latency{newHistogram("rest_client_request_duration_seconds", "Request latency in seconds.")}
	clientmetrics.RateLimiterLatency = latency{newHistogram("rest_client_rate_limiter_duration_seconds", "Client side rate limiter latency in seconds.")}
}

func newHistogram(name, help string) *prometheus.HistogramVec {
	histogram := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    name,
		Help:    help,
		Buckets: []float64{0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60},
	}, []string{"verb", "host"})
	ctrlmetrics.Registry.MustRegister(histogram)
	return histogram
}
