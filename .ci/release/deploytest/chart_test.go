// Package deploytest tests the Helm chart and the file for Docker Compose with the libraries of Helm,
// Kubernetes, the Prometheus Operator and Compose.
package deploytest

import (
	"maps"
	"slices"
	"strings"
	"testing"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"
)

const chartFolder = "../../../cmd/bunting/chart"

// kinds are the types of the API by apiVersion and kind.
var kinds = map[string]func() any{
	"apps/v1 StatefulSet":                     func() any { return new(apps.StatefulSet) },
	"v1 Service":                              func() any { return new(core.Service) },
	"v1 ServiceAccount":                       func() any { return new(core.ServiceAccount) },
	"networking.k8s.io/v1 NetworkPolicy":      func() any { return new(networking.NetworkPolicy) },
	"networking.k8s.io/v1 Ingress":            func() any { return new(networking.Ingress) },
	"policy/v1 PodDisruptionBudget":           func() any { return new(policy.PodDisruptionBudget) },
	"monitoring.coreos.com/v1 ServiceMonitor": func() any { return new(monitoring.ServiceMonitor) },
}

// schemas are those of the Kubernetes API, as client-go contains them: its servers merge objects by them.
var schemas = applyconfigurations.NewTypeConverter(scheme.Scheme)

// render renders the chart as helm template does, and returns its objects by kind and name. Each is
// decoded strictly: a member that the type does not have is an error. Objects of Kubernetes itself must
// also match their schema, which finds two elements with one name.
func render(t *testing.T, values map[string]any) (map[string]any, error) {
	t.Helper()
	return renderFile(t, chartFolder, "flags", values)
}

// renderFile renders a chart for the release of a name.
func renderFile(t *testing.T, file, release string, values map[string]any) (map[string]any, error) {
	t.Helper()
	chart, err := loader.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	all, err := chartutil.ToRenderValues(chart, values, chartutil.ReleaseOptions{Name: release, Namespace: "shop", IsInstall: true}, chartutil.DefaultCapabilities)
	if err != nil {
		return nil, err
	}
	files, err := engine.Render(chart, all)
	if err != nil {
		return nil, err
	}
	objects := map[string]any{}
	for name, text := range files {
		if strings.HasSuffix(name, ".txt") {
			continue
		}
		for document := range strings.SplitSeq("\n"+text, "\n---\n") {
			var head struct {
				APIVersion, Kind string
				Metadata         struct{ Name, Namespace string }
			}
			if err := yaml.Unmarshal([]byte(document), &head); err != nil {
				t.Fatalf("%s: %v\n%s", name, err, document)
			}
			if head.Kind == "" {
				continue
			}
			create := kinds[head.APIVersion+" "+head.Kind]
			if create == nil || head.Metadata.Namespace != "shop" {
				t.Fatalf("%s: %+v", name, head)
			}
			object := create()
			if err := yaml.UnmarshalStrict([]byte(document), object); err != nil {
				t.Fatalf("%s: %v\n%s", name, err, document)
			}
			if _, isForeign := object.(*monitoring.ServiceMonitor); !isForeign {
				var untyped unstructured.Unstructured
				err := yaml.Unmarshal([]byte(document), &untyped.Object)
				if err == nil {
					_, err = schemas.ObjectToTyped(&untyped)
				}
				if err != nil {
					return nil, err
				}
			}
			objects[head.Kind+" "+head.Metadata.Name] = object
		}
	}
	return objects, nil
}

// variants are values of the chart, and the objects that it renders.
var variants = map[string]struct {
	values map[string]any
	want   []string
}{
	"SQLite": {nil, []string{"NetworkPolicy flags-bunting", "Service flags-bunting", "Service flags-bunting-pods", "ServiceAccount flags-bunting", "StatefulSet flags-bunting"}},
	"everything": {map[string]any{
		"fullnameOverride": "flags", "replicas": 3, "drainSeconds": 40, "database": map[string]any{"existingSecret": "db"}, "ownerKey": map[string]any{"existingSecret": "owner"},
		"settings": map[string]any{"site-url": "https://flags.example.com", "retain-events": 90, "geoip-strict": true}, "env": []any{map[string]any{"name": "BUNTING_SMTP_URL", "value": "smtps://mail"}},
		"ingress": map[string]any{"enabled": true, "className": "nginx", "tlsSecret": "tls"}, "serviceMonitor": map[string]any{"enabled": true, "labels": map[string]any{"release": "prometheus"}},
		"persistence": map[string]any{"storageClass": "fast", "size": "1Gi"}, "podAnnotations": map[string]any{"a": "b"}, "podLabels": map[string]any{"team": "shop"},
		"nodeSelector": map[string]any{"disk": "ssd"}, "tolerations": []any{map[string]any{"operator": "Exists"}}, "imagePullSecrets": []any{map[string]any{"name": "registry"}},
	}, []string{"Ingress flags", "NetworkPolicy flags", "PodDisruptionBudget flags", "Service flags", "Service flags-pods", "ServiceAccount flags", "ServiceMonitor flags", "StatefulSet flags"}},
	"open": {map[string]any{"networkPolicy": map[string]any{"enabled": false}, "nameOverride": "flags"}, []string{"Service flags", "Service flags-pods", "ServiceAccount flags", "StatefulSet flags"}},
}

// helm lint reports no problem, and all objects are valid for Kubernetes and the Prometheus Operator.
func TestChart(t *testing.T) {
	for name, tt := range variants {
		for _, m := range lint.All(chartFolder, tt.values, "shop", true).Messages {
			if m.Severity > support.InfoSev {
				t.Errorf("%s: %v", name, m)
			}
		}
		objects, err := render(t, tt.values)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := slices.Sorted(maps.Keys(objects)); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
		for _, object := range objects {
			if set, ok := object.(*apps.StatefulSet); ok {
				checkPods(t, name, set)
			}
			if service, ok := object.(*core.Service); ok {
				set := objects["StatefulSet "+strings.TrimSuffix(service.Name, "-pods")].(*apps.StatefulSet)
				for key, value := range service.Spec.Selector {
					if set.Spec.Template.Labels[key] != value {
						t.Errorf("%s: the service %s does not select the pods", name, service.Name)
					}
				}
			}
		}
	}
}

// checkPods checks the permissions of the pods, and how they start and stop.
func checkPods(t *testing.T, name string, set *apps.StatefulSet) {
	t.Helper()
	pod := &set.Spec.Template.Spec
	c := &pod.Containers[0]
	if !*pod.SecurityContext.RunAsNonRoot || *pod.AutomountServiceAccountToken || *pod.EnableServiceLinks || !*c.SecurityContext.ReadOnlyRootFilesystem ||
		*c.SecurityContext.AllowPrivilegeEscalation || !slices.Equal(c.SecurityContext.Capabilities.Drop, []core.Capability{"ALL"}) {
		t.Errorf("%s: the pods may do more than they need", name)
	}
	if c.StartupProbe.HTTPGet.Path != "/_readiness" || c.ReadinessProbe.HTTPGet.Path != "/_readiness" || c.LivenessProbe.HTTPGet.Path != "/_liveness" {
		t.Errorf("%s: %+v", name, c.ReadinessProbe)
	}
	if claim := set.Spec.VolumeClaimTemplates[0]; claim.Name != c.VolumeMounts[0].Name || c.VolumeMounts[0].MountPath != "/data" {
		t.Errorf("%s: the volume is not mounted: %+v", name, c.VolumeMounts)
	}
}

// The settings become environment variables, and the pod lives longer than its drain.
func TestChart_Settings(t *testing.T) {
	objects, err := render(t, variants["everything"].values)
	if err != nil {
		t.Fatal(err)
	}
	set := objects["StatefulSet flags"].(*apps.StatefulSet)
	c := &set.Spec.Template.Spec.Containers[0]
	got := map[string]string{}
	for _, e := range c.Env {
		got[e.Name] = e.Value
		if e.ValueFrom != nil {
			got[e.Name] = e.ValueFrom.SecretKeyRef.Name + "/" + e.ValueFrom.SecretKeyRef.Key
		}
	}
	want := map[string]string{
		"BUNTING_LISTEN": ":8000", "BUNTING_DATA": "/data", "BUNTING_DRAIN": "40s", "BUNTING_DATABASE": "db/url", "BUNTING_OWNER_KEY_FILE": "/owner/key",
		"BUNTING_SITE_URL": "https://flags.example.com", "BUNTING_RETAIN_EVENTS": "90", "BUNTING_GEOIP_STRICT": "true", "BUNTING_SMTP_URL": "smtps://mail",
	}
	if !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if seconds := *set.Spec.Template.Spec.TerminationGracePeriodSeconds; seconds != 60 || *set.Spec.Replicas != 3 {
		t.Errorf("%d seconds, %d replicas", seconds, *set.Spec.Replicas)
	}
}

// A variable that is set twice does not match the schema.
func TestChart_Schema(t *testing.T) {
	values := map[string]any{"env": []any{map[string]any{"name": "BUNTING_DRAIN", "value": "1s"}}}
	if _, err := render(t, values); err == nil || !strings.Contains(err.Error(), `env: duplicate entries for key [name="BUNTING_DRAIN"]`) {
		t.Errorf("%v, want a duplicate", err)
	}
}

// Values that cannot work are refused before anything is installed.
func TestChart_Refuses(t *testing.T) {
	for want, values := range map[string]map[string]any{
		"more than one server needs PostgreSQL": {"replicas": 2},
		"replica":                               {"replica": 2}, // a misspelt name
		"minimum":                               {"replicas": 0},
		"Site_URL":                              {"settings": map[string]any{"Site_URL": "x"}},
		"drainSeconds":                          {"drainSeconds": "10s"},
		"from":                                  {"networkPolicy": map[string]any{"from": []any{}}},
	} {
		if _, err := render(t, values); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", values, err, want)
		}
	}
}
