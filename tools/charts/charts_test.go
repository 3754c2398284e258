// Package charts renders the Helm chart as people would and reads what comes out
// as Kubernetes does (charts_test.go), and the files for Compose as that does
// (compose_test.go). It is a module of its own, since Helm and the types of
// Kubernetes are larger than all of BeeOS.
package charts

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
)

const folder = "../../deploy/helm/beeos"

// cases are ways to run BeeOS, and what there must be of each kind.
var cases = map[string]struct {
	values map[string]any
	want   map[string]int
}{
	"one server": {
		values: map[string]any{},
		want:   map[string]int{"Deployment": 1, "Service": 6, "ServiceAccount": 1, "PodDisruptionBudget": 1, "PersistentVolumeClaim": 1},
	},
	"several": {
		values: map[string]any{
			"replicas": 3, "database": map[string]any{"secret": "pg"}, "nats": map[string]any{"url": "nats://nats:4222"},
			"s3":            map[string]any{"endpoint": "https://s3.example.com/b", "accessKey": "a", "secret": "s3", "region": "eu"},
			"llm":           map[string]any{"secret": "llm"},
			"persistence":   map[string]any{"enabled": false},
			"autoscaling":   map[string]any{"enabled": true},
			"networkPolicy": map[string]any{"enabled": true, "metricsFrom": []any{map[string]any{"namespaceSelector": map[string]any{}}}},
			"serviceMonitor": map[string]any{
				"enabled": true, "labels": map[string]any{"release": "prometheus"},
			},
			"settings": map[string]any{"WEB_PUBLIC_URL": "https://bee.example.com", "BEEOS_RATE_LIMIT": 100, "LLM_MODEL": "m"},
		},
		want: map[string]int{"Deployment": 1, "Service": 6, "ServiceAccount": 1, "PodDisruptionBudget": 1, "HorizontalPodAutoscaler": 1, "NetworkPolicy": 1, "ServiceMonitor": 1},
	},
	"one address": {
		values: map[string]any{
			"domain": "bee.example.com, mcp.bee.example.com", "networkPolicy": map[string]any{"enabled": true},
			"ingress": map[string]any{"enabled": true, "className": "nginx", "tlsSecret": "bee-tls", "annotations": map[string]any{"nginx.ingress.kubernetes.io/proxy-buffering": "off"}},
		},
		want: map[string]int{"Deployment": 1, "Service": 2, "Ingress": 1, "ServiceAccount": 1, "PodDisruptionBudget": 1, "PersistentVolumeClaim": 1, "NetworkPolicy": 1},
	},
	"split": {
		values: map[string]any{"split": true, "database": map[string]any{"secret": "pg"}, "nats": map[string]any{"secret": "nats"}, "imagePullSecrets": []any{map[string]any{"name": "x"}}},
		want:   map[string]int{"Deployment": 6, "Service": 6, "ServiceAccount": 1, "PodDisruptionBudget": 6, "PersistentVolumeClaim": 1},
	},
}

func render(values map[string]any) (map[string]string, error) {
	return renderFor("v1.34.0", values)
}

// renderFor renders for a cluster of that version.
func renderFor(version string, values map[string]any) (map[string]string, error) {
	kube, err := chartutil.ParseKubeVersion(version)
	if err != nil {
		return nil, err
	}
	cluster := &chartutil.Capabilities{KubeVersion: *kube, APIVersions: chartutil.DefaultVersionSet}
	c, err := loader.Load(folder)
	if err != nil {
		return nil, err
	}
	all, err := chartutil.ToRenderValues(c, values, chartutil.ReleaseOptions{Name: "bee", Namespace: "default", IsInstall: true}, cluster)
	if err != nil {
		return nil, err
	}
	return engine.Render(c, all)
}

// documents are the YAML documents of everything rendered.
func documents(files map[string]string) (list []string) {
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if strings.HasSuffix(name, ".txt") {
			continue
		}
		for doc := range strings.SplitSeq(files[name], "\n---") {
			if strings.TrimSpace(doc) != "" {
				list = append(list, doc)
			}
		}
	}
	return list
}

// serviceMonitor is as much of Prometheus's own kind as the chart uses.
type serviceMonitor struct {
	runtime.TypeMeta `json:",inline"`
	Metadata         map[string]any `json:"metadata"`
	Spec             struct {
		Selector struct {
			MatchLabels map[string]string `json:"matchLabels"`
		} `json:"selector"`
		Endpoints []struct {
			Port     string `json:"port"`
			Path     string `json:"path"`
			Interval string `json:"interval"`
		} `json:"endpoints"`
	} `json:"spec"`
}

func (m *serviceMonitor) GetObjectKind() schema.ObjectKind { return &m.TypeMeta }
func (m *serviceMonitor) DeepCopyObject() runtime.Object   { c := *m; return &c }

func TestChartRendersWhatKubernetesKnows(t *testing.T) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{appsv1.AddToScheme, corev1.AddToScheme, policyv1.AddToScheme, networkingv1.AddToScheme, autoscalingv2.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	scheme.AddKnownTypeWithName(schema.GroupVersionKind{Group: "monitoring.coreos.com", Version: "v1", Kind: "ServiceMonitor"}, &serviceMonitor{})
	strict := json.NewSerializerWithOptions(json.DefaultMetaFactory, scheme, scheme, json.SerializerOptions{Yaml: true, Strict: true})
	for name, tt := range cases {
		t.Run(name, func(t *testing.T) {
			files, err := render(tt.values)
			if err != nil {
				t.Fatal(err)
			}
			got, named := map[string]int{}, map[string]runtime.Object{}
			for _, doc := range documents(files) {
				object, kind, err := strict.Decode([]byte(doc), nil, nil)
				if err != nil {
					t.Errorf("%v\n%s", err, doc)
					continue
				}
				got[kind.Kind]++
				if o, ok := object.(metav1.Object); ok {
					named[kind.Kind+" "+o.GetName()] = object
				}
			}
			for _, object := range named {
				switch o := object.(type) {
				case *appsv1.Deployment:
					checkDeployment(t, o)
				case *networkingv1.Ingress:
					checkIngress(t, o, named)
				}
			}
			if !maps.Equal(got, tt.want) {
				t.Errorf("there are %v, want %v", got, tt.want)
			}
		})
	}
}

// drainsWithin is how long a server that stops takes at most: until calls are
// answered, and until requests have ended.
const drainsWithin = 5 + 10 + 5

// checkDeployment: what types alone do not say.
func checkDeployment(t *testing.T, d *appsv1.Deployment) {
	t.Helper()
	pod := d.Spec.Template
	for k, v := range d.Spec.Selector.MatchLabels {
		if pod.Labels[k] != v {
			t.Errorf("%s does not select its own pods by %s", d.Name, k)
		}
	}
	c := pod.Spec.Containers[0]
	if c.ReadinessProbe == nil || c.LivenessProbe == nil || c.StartupProbe == nil || !*c.SecurityContext.ReadOnlyRootFilesystem || !*pod.Spec.SecurityContext.RunAsNonRoot {
		t.Errorf("%s lacks a probe or runs with too many rights", d.Name)
	}
	if c.Lifecycle == nil || c.Lifecycle.PreStop == nil || c.Lifecycle.PreStop.Sleep == nil || c.Lifecycle.PreStop.Sleep.Seconds <= 0 {
		t.Errorf("%s gets requests after it was told to stop", d.Name)
	} else if left := *pod.Spec.TerminationGracePeriodSeconds - c.Lifecycle.PreStop.Sleep.Seconds; left < drainsWithin {
		t.Errorf("%s has %d s left to drain, which takes up to %d", d.Name, left, drainsWithin)
	}
	volumes := map[string]bool{}
	for _, v := range pod.Spec.Volumes {
		volumes[v.Name] = true
	}
	for _, m := range c.VolumeMounts {
		if !volumes[m.Name] {
			t.Errorf("%s mounts %s, which is not there", d.Name, m.Name)
		}
	}
}

// checkIngress: each host leads to a port of a Service, and that to one of the pods.
func checkIngress(t *testing.T, in *networkingv1.Ingress, named map[string]runtime.Object) {
	t.Helper()
	var hosts []string
	for _, rule := range in.Spec.Rules {
		hosts = append(hosts, rule.Host)
		to := rule.HTTP.Paths[0].Backend.Service
		service, ok := named["Service "+to.Name].(*corev1.Service)
		if !ok || service.Spec.Ports[0].Name != to.Port.Name {
			t.Errorf("%s leads to %s, which is not there", rule.Host, to.Name)
			continue
		}
		pod := named["Deployment bee-beeos"].(*appsv1.Deployment).Spec.Template
		for k, v := range service.Spec.Selector {
			if pod.Labels[k] != v {
				t.Errorf("%s does not select the pods by %s", service.Name, k)
			}
		}
		if target := service.Spec.Ports[0].TargetPort.StrVal; !slices.ContainsFunc(pod.Spec.Containers[0].Ports, func(p corev1.ContainerPort) bool { return p.Name == target }) {
			t.Errorf("the pods have no port %s", target)
		}
	}
	if want := []string{"bee.example.com", "mcp.bee.example.com"}; !slices.Equal(hosts, want) || !slices.Equal(in.Spec.TLS[0].Hosts, want) {
		t.Errorf("the hosts are %v, and %v have a certificate", hosts, in.Spec.TLS[0].Hosts)
	}
}

// TestChartWaitsWhereItCan: a cluster that does not know the way to wait is not asked
// to, nor is one whose operator does not want it.
func TestChartWaitsWhereItCan(t *testing.T) {
	for _, tt := range []struct {
		version string
		seconds int
		want    bool
	}{{"v1.29.9", 5, false}, {"v1.30.0", 5, true}, {"v1.31.2-gke.100", 7, true}, {"v1.33.0", 0, false}} {
		files, err := renderFor(tt.version, map[string]any{"preStopSeconds": tt.seconds})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(files["beeos/templates/deployment.yaml"], fmt.Sprintf("sleep: {seconds: %d}", tt.seconds)); got != tt.want {
			t.Errorf("Kubernetes %s, %d s: it waits %t, want %t", tt.version, tt.seconds, got, tt.want)
		}
	}
}

// TestChartRefuses: what cannot work is said before it is tried.
func TestChartRefuses(t *testing.T) {
	for words, values := range map[string]map[string]any{
		"several pods share a PostgreSQL":  {"replicas": 2},
		"several pods share a NATS":        {"replicas": 2, "database": map[string]any{"secret": "pg"}},
		"nothing would outlive the pod":    {"persistence": map[string]any{"enabled": false}},
		"autoscaling is for pods":          {"split": true, "autoscaling": map[string]any{"enabled": true}, "database": map[string]any{"secret": "pg"}, "nats": map[string]any{"url": "x"}},
		"additional properties 'replica' ": {"replica": 2},
		"one address is for pods":          {"domain": "bee.example.com", "split": true, "database": map[string]any{"secret": "pg"}, "nats": map[string]any{"url": "x"}},
		"need one: set settings.LLM_MODEL": {"llm": map[string]any{"secret": "llm"}},
		"the Ingress needs a host":         {"ingress": map[string]any{"enabled": true}},
	} {
		if _, err := render(values); err == nil || !strings.Contains(err.Error(), strings.TrimSpace(words)) {
			t.Errorf("%s: %v", words, err)
		}
	}
}

func TestChartPassesLint(t *testing.T) {
	for name, tt := range cases {
		linter := lint.AllWithKubeVersion(folder, tt.values, "default", nil)
		for _, m := range linter.Messages {
			if m.Severity >= support.WarningSev {
				t.Errorf("%s: %s", name, m)
			}
		}
	}
}
