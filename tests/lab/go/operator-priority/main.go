// Command operator-priority runs the RayCluster, RayJob and RayService
// controllers of KubeRay 1.6.1 on controller-runtime 0.24.1, whose work queue
// knows priorities, as KubeRay 1.7 does. The flags it has are those of the
// KubeRay operator that a lab needs, with the same names and meanings.
//
// KubeRay's own program cannot be used: it imports a webhooks package that
// does not build against this controller-runtime.
package main

import (
	"context"
	"flag"
	"os"

	"github.com/go-logr/logr"
	"github.com/go-logr/zapr"
	routev1 "github.com/openshift/api/route/v1"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"gopkg.in/natefinch/lumberjack.v2"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	k8szap "sigs.k8s.io/controller-runtime/pkg/log/zap"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	configapi "github.com/ray-project/kuberay/ray-operator/apis/config/v1alpha1"
	rayv1 "github.com/ray-project/kuberay/ray-operator/apis/ray/v1"
	"github.com/ray-project/kuberay/ray-operator/controllers/ray"
	"github.com/ray-project/kuberay/ray-operator/controllers/ray/batchscheduler"
	"github.com/ray-project/kuberay/ray-operator/controllers/ray/metrics"
	"github.com/ray-project/kuberay/ray-operator/controllers/ray/utils"
)

// settings are the operator's flags.
type settings struct {
	config  configapi.Configuration
	qps     float64
	burst   int
	elect   bool
	logging k8szap.Options
}

func main() {
	given := parse()
	setLogger(given)
	if err := run(ctrl.SetupSignalHandler(), given); err != nil {
		ctrl.Log.WithName("setup").Error(err, "the operator stops")
		os.Exit(1)
	}
}

func parse() *settings {
	given := &settings{logging: k8szap.Options{TimeEncoder: zapcore.ISO8601TimeEncoder, Encoder: jsonEncoder()}}
	config := &given.config
	flag.StringVar(&config.MetricsAddr, "metrics-addr", configapi.DefaultMetricsAddr, "address of /metrics")
	flag.StringVar(&config.ProbeAddr, "health-probe-bind-address", configapi.DefaultProbeAddr, "address of the probes")
	flag.BoolVar(&given.elect, "enable-leader-election", configapi.DefaultEnableLeaderElection, "work as leader only")
	flag.StringVar(&config.LeaderElectionNamespace, "leader-election-namespace", "", "namespace of the lease")
	flag.IntVar(&config.ReconcileConcurrency, "reconcile-concurrency", configapi.DefaultReconcileConcurrency, "workers of each controller")
	flag.StringVar(&config.LogFile, "log-file-path", "", "file that gets the log too, at info level")
	flag.BoolVar(&config.UseKubernetesProxy, "use-kubernetes-proxy", false, "call Ray dashboards through the API server")
	flag.BoolVar(&config.EnableMetrics, "enable-metrics", false, "export the kuberay_ series")
	flag.Float64Var(&given.qps, "qps", float64(configapi.DefaultQPS), "client requests a second; -1 is no limit")
	flag.IntVar(&given.burst, "burst", configapi.DefaultBurst, "client requests at once")
	given.logging.BindFlags(flag.CommandLine)
	flag.Parse()
	return given
}

// setLogger logs JSON to standard error at the level asked for and, where
// there is a file, to the file at info level: a verbose stream never reaches it.
func setLogger(given *settings) {
	core := k8szap.NewRaw(k8szap.UseFlagOptions(&given.logging)).Core()
	if given.config.LogFile != "" {
		file := &lumberjack.Logger{Filename: given.config.LogFile, MaxSize: 500, MaxBackups: 10, MaxAge: 30}
		core = zapcore.NewTee(core, zapcore.NewCore(jsonEncoder(), zapcore.AddSync(file), zap.InfoLevel))
	}
	options := append(given.logging.ZapOpts, zap.AddCallerSkip(1))
	var logger logr.Logger = zapr.NewLogger(zap.New(core).WithOptions(options...))
	ctrl.SetLogger(logger)
	klog.SetLogger(logger)
}

func jsonEncoder() zapcore.Encoder {
	encoder := zap.NewProductionEncoderConfig()
	encoder.EncodeTime = zapcore.ISO8601TimeEncoder
	return zapcore.NewJSONEncoder(encoder)
}

func run(ctx context.Context, given *settings) error {
	observeClient()
	restConfig, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	restConfig.UserAgent = "kuberay-operator/" + utils.KUBERAY_VERSION
	restConfig.QPS, restConfig.Burst = float32(given.qps), given.burst
	mgr, err := newManager(restConfig, given)
	if err != nil {
		return err
	}
	if err := addControllers(ctx, mgr, restConfig, given.config); err != nil {
		return err
	}
	if err := mgr.AddHealthzCheck("healthz", healthz.Ping); err != nil {
		return err
	}
	if err := mgr.AddReadyzCheck("readyz", healthz.Ping); err != nil {
		return err
	}
	return mgr.Start(ctx)
}

func newManager(restConfig *rest.Config, given *settings) (ctrl.Manager, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, rayv1.AddToScheme, routev1.Install} {
		utilruntime.Must(add(scheme))
	}
	// The operator keeps only those Jobs in its cache that it has made.
	own := labels.SelectorFromSet(labels.Set{utils.KubernetesCreatedByLabelKey: utils.ComponentName})
	return ctrl.NewManager(restConfig, ctrl.Options{
		Scheme:                  scheme,
		Cache:                   cache.Options{ByObject: map[client.Object]cache.ByObject{&batchv1.Job{}: {Label: own}}},
		Metrics:                 metricsserver.Options{BindAddress: given.config.MetricsAddr},
		HealthProbeBindAddress:  given.config.ProbeAddr,
		LeaderElection:          given.elect,
		LeaderElectionID:        "ray-operator-leader",
		LeaderElectionNamespace: given.config.LeaderElectionNamespace,
	})
}

func addControllers(ctx context.Context, mgr ctrl.Manager, restConfig *rest.Config, config configapi.Configuration) error {
	var clusterMetrics *metrics.RayClusterMetricsManager
	var jobMetrics *metrics.RayJobMetricsManager
	if config.EnableMetrics {
		clusterMetrics = metrics.NewRayClusterMetricsManager(ctx, mgr.GetClient())
		jobMetrics = metrics.NewRayJobMetricsManager(ctx, mgr.GetClient())
		ctrlmetrics.Registry.MustRegister(clusterMetrics, jobMetrics, metrics.NewRayServiceMetricsManager(ctx, mgr.GetClient()))
	}
	schedulers, err := batchscheduler.NewSchedulerManager(ctx, config, restConfig, mgr.GetClient())
	if err != nil {
		return err
	}
	schedulers.AddToScheme(mgr.GetScheme())
	clusterOptions := ray.RayClusterReconcilerOptions{RayClusterMetricsManager: clusterMetrics, BatchSchedulerManager: schedulers}
	if err := ray.NewReconciler(ctx, mgr, clusterOptions).SetupWithManager(mgr, config.ReconcileConcurrency); err != nil {
		return err
	}
	if err := ray.NewRayServiceReconciler(ctx, mgr, config).SetupWithManager(mgr, config.ReconcileConcurrency); err != nil {
		return err
	}
	jobOptions := ray.RayJobReconcilerOptions{RayJobMetricsManager: jobMetrics, BatchSchedulerManager: schedulers}
	return ray.NewRayJobReconciler(ctx, mgr, jobOptions, config).SetupWithManager(mgr, config.ReconcileConcurrency)
}
