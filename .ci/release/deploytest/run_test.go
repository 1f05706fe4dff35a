package deploytest

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
)

// repository is the root of the clone.
const repository = "../../.."

// run runs a command and returns its output.
func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.WaitDelay = time.Minute
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
	return string(out)
}

// imageConfig is the part of an image's configuration that a container inherits.
type imageConfig struct {
	Env, Entrypoint, Cmd []string
	Healthcheck          struct{ Test []string }
}

// unpackImage unpacks an image, and returns the folder with its files and its configuration. The image is
// the one of a release in the folder TEST_DIST, or is built here.
func unpackImage(t *testing.T, name string) (root string, config imageConfig) {
	t.Helper()
	_, version, _ := strings.Cut(name, ":")
	folder, root := t.TempDir(), t.TempDir()
	file := filepath.Join(os.Getenv("TEST_DIST"), "bunting_"+strings.TrimPrefix(version, "v")+"_image.tar")
	if os.Getenv("TEST_DIST") == "" {
		program := filepath.Join(t.TempDir(), "bunting")
		file = filepath.Join(t.TempDir(), "image.tar")
		run(t, "env", "-C", repository, "CGO_ENABLED=0", "GOWORK=", "go", "build", "-o", program, "./cmd/bunting")
		run(t, "env", "-C", "..", "GOWORK=off", "go", "run", "./image", version, "2026-01-01T00:00:00Z", file, "linux/"+runtime.GOARCH+"="+program)
	}
	run(t, "tar", "-xf", file, "-C", folder)
	type descriptor struct {
		Digest      string
		Annotations map[string]string
		Platform    struct{ Architecture string }
	}
	var index struct{ Manifests []descriptor }
	blob := func(d descriptor) string {
		return filepath.Join(folder, "blobs", strings.Replace(d.Digest, ":", "/", 1))
	}
	readJSON(t, filepath.Join(folder, "index.json"), &index)
	if got := index.Manifests[0].Annotations["io.containerd.image.name"]; got != name {
		t.Fatalf("the release has the image %s, want %s", got, name)
	}
	readJSON(t, blob(index.Manifests[0]), &index)
	i := slices.IndexFunc(index.Manifests, func(d descriptor) bool { return d.Platform.Architecture == runtime.GOARCH })
	var manifest struct {
		Config descriptor
		Layers []descriptor
	}
	readJSON(t, blob(index.Manifests[i]), &manifest)
	for _, layer := range manifest.Layers {
		run(t, "tar", "-xzf", blob(layer), "-C", root)
	}
	var image struct{ Config imageConfig }
	readJSON(t, blob(manifest.Config), &image)
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	return root, image.Config
}

func readJSON(t *testing.T, path string, v any) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, v)
	}
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// portOf returns the number of a container's port.
func portOf(t *testing.T, c *core.Container, name string) string {
	t.Helper()
	for _, p := range c.Ports {
		if p.Name == name {
			return fmt.Sprint(p.ContainerPort)
		}
	}
	t.Fatalf("the container has no port %s", name)
	return ""
}

// volumesOf returns the mount points of a container, each with the options of a tmpfs that has the
// permissions of the pod's volume.
func volumesOf(t *testing.T, set *apps.StatefulSet) string {
	t.Helper()
	pod := &set.Spec.Template.Spec
	options := map[string]string{}
	for _, claim := range set.Spec.VolumeClaimTemplates {
		options[claim.Name] = fmt.Sprintf("mode=2770,gid=%d", *pod.SecurityContext.FSGroup)
	}
	for _, v := range pod.Volumes {
		if v.EmptyDir != nil {
			options[v.Name] = fmt.Sprintf("mode=2777,gid=%d", *pod.SecurityContext.FSGroup)
		}
	}
	var out []string
	for _, m := range pod.Containers[0].VolumeMounts {
		if options[m.Name] == "" {
			t.Fatalf("the volume %s is of another kind", m.Name)
		}
		out = append(out, m.MountPath, options[m.Name])
	}
	return strings.Join(out, " ")
}

// containerOf returns the begin of a command that runs the rest of its arguments in an unpacked image as
// the pod's container would run, with its user, permissions and environment.
func containerOf(t *testing.T, pod *core.PodSpec, config imageConfig, root string) []string {
	t.Helper()
	c := &pod.Containers[0]
	out := append([]string{"env", "-i"}, config.Env...)
	for _, e := range c.Env {
		if e.ValueFrom != nil {
			t.Fatalf("%s is not in the manifests", e.Name)
		}
		out = append(out, e.Name+"="+e.Value)
	}
	// chroot needs three capabilities to become the user, which drops them.
	out = append(out, "/usr/bin/setpriv", "--inh-caps=-all", "--bounding-set=-all,+sys_chroot,+setuid,+setgid")
	if !*c.SecurityContext.AllowPrivilegeEscalation {
		out = append(out, "--no-new-privs")
	}
	user := pod.SecurityContext
	return append(out, "/usr/sbin/chroot", fmt.Sprintf("--userspec=%d:%d", *user.RunAsUser, *user.RunAsGroup), fmt.Sprintf("--groups=%d", *user.FSGroup), root)
}

// The pod that the page's command creates becomes ready, as the user and with the volumes of its
// manifests, and decides a flag for clients of its Service. While it ends, it is not ready and still
// answers. The files of the image are read-only.
func TestChart_Runs(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join(repository, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	command := regexp.MustCompile("`helm install (\\S+) (\\S+)`").FindStringSubmatch(string(readme))
	if command == nil {
		t.Fatal("README.md has no command helm install")
	}
	chart := chartFolder
	if dist := os.Getenv("TEST_DIST"); dist != "" {
		chart = filepath.Join(dist, command[2])
	}
	// A minute is long enough for the questions to the server that ends.
	objects, err := renderFile(t, chart, command[1], map[string]any{"drainSeconds": 60})
	if err != nil {
		t.Fatal(err)
	}
	name := command[1] + "-bunting"
	set, service := objects["StatefulSet "+name].(*apps.StatefulSet), objects["Service "+name].(*core.Service)
	pod := &set.Spec.Template.Spec
	c := &pod.Containers[0]
	root, config := unpackImage(t, c.Image)
	if len(c.Command) == 0 {
		c.Command = config.Entrypoint
	}
	probe := func(p *core.Probe) string {
		return "http://127.0.0.1:" + portOf(t, c, p.HTTPGet.Port.StrVal) + p.HTTPGet.Path
	}
	port := service.Spec.Ports[0]
	address := fmt.Sprintf("%s.%s.svc:%d", service.Name, service.Namespace, port.Port)
	vars := []string{
		"ROOT=" + root, "VOLUMES=" + volumesOf(t, set), "SERVE=" + strings.Join(append(c.Command, c.Args...), " "),
		"READY=" + probe(c.ReadinessProbe), "PROBES=" + probe(c.StartupProbe) + " " + probe(c.LivenessProbe), "HEALTH=" + strings.Join(config.Healthcheck.Test[1:], " "),
		"URL=http://" + address, "CONNECT=--connect-to " + address + ":127.0.0.1:" + portOf(t, c, port.TargetPort.StrVal), "DRAINS=yes",
	}
	var script []byte
	for _, name := range []string{"../decide.sh", "../image/run.sh"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		script = append(script, text...)
	}
	args := slices.Concat([]string{"env"}, vars, []string{"unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "sh", "-euc", string(script), "sh"}, containerOf(t, pod, config, root))
	if os.Geteuid() != 0 {
		args = append([]string{"sudo", "-n"}, args...)
	}
	out := run(t, args[0], args[1:]...)
	for _, want := range []string{"new-checkout true\n", "draining\n", "new-checkout true\n", "stopped\n"} {
		before, after, found := strings.Cut(out, want)
		if !found {
			t.Fatalf("want %q after this:\n%s", want, before)
		}
		out = after
	}
}
