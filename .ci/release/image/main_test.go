package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

const created = "2026-01-01T00:00:00Z"

// unpack writes the files of an archive to a folder. Owners are ignored.
func unpack(t *testing.T, r io.Reader, folder string) {
	t.Helper()
	archive := tar.NewReader(r)
	for {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(folder, h.Name)
		switch h.Typeflag {
		case tar.TypeDir:
			err = os.MkdirAll(path, 0o755)
		case tar.TypeReg:
			text, readErr := io.ReadAll(archive)
			if err = readErr; err == nil {
				err = os.WriteFile(path, text, h.FileInfo().Mode())
			}
		default:
			t.Fatalf("%s is neither a file nor a folder", h.Name)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// read reads the image of a version as a registry would, and returns its images by platform.
func read(t *testing.T, file, version string) map[string]v1.Image {
	t.Helper()
	folder := t.TempDir()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	unpack(t, f, folder)
	index, err := layout.ImageIndexFromPath(folder)
	if err != nil {
		t.Fatal(err)
	}
	top, err := index.IndexManifest()
	if err != nil || len(top.Manifests) != 1 || top.Manifests[0].Annotations["org.opencontainers.image.ref.name"] != version {
		t.Fatalf("%+v, %v", top, err)
	}
	platforms, err := index.ImageIndex(top.Manifests[0].Digest)
	if err == nil {
		err = validate.Index(platforms)
	}
	if err != nil {
		t.Fatal(err)
	}
	list, err := platforms.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]v1.Image{}
	for _, m := range list.Manifests {
		if out[m.Platform.String()], err = platforms.Image(m.Digest); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// The image has both platforms, is valid as go-containerregistry reads it, and runs without root. Two
// builds are equal.
func TestImage(t *testing.T) {
	programs := map[string]string{}
	for _, platform := range []string{"linux/amd64", "linux/arm64"} {
		programs[platform] = filepath.Join(t.TempDir(), "program")
		if err := os.WriteFile(programs[platform], []byte("the program for "+platform), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(t.TempDir(), "image.tar")
	if err := write("v0.1.0", created, file, programs); err != nil {
		t.Fatal(err)
	}
	found := read(t, file, "v0.1.0")
	if len(found) != 2 {
		t.Fatalf("%v", found)
	}
	for platform, image := range found {
		config, err := image.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		if c := config.Config; config.OS+"/"+config.Architecture != platform || c.User != "65532:65532" || !slices.Equal(c.Entrypoint, []string{"/bunting"}) || len(c.Healthcheck.Test) != 5 {
			t.Errorf("%s: %+v", platform, config)
		}
		modes, texts := map[string]string{}, map[string]string{}
		files := mutate.Extract(image)
		archive := tar.NewReader(files)
		for h, err := archive.Next(); err == nil; h, err = archive.Next() {
			text, _ := io.ReadAll(archive)
			modes[h.Name], texts[h.Name] = fmt.Sprintf("%04o %d", h.Mode, h.Uid), string(text)
		}
		_ = files.Close()
		for name, want := range map[string]string{"bunting": "0755 0", "data": "0700 65532", "tmp": "1777 0", "etc/ssl/certs/ca-certificates.crt": "0644 0"} {
			if got := modes[name] + modes[name+"/"]; got != want {
				t.Errorf("%s: %s is %s, want %s", platform, name, got, want)
			}
		}
		if texts["bunting"] != "the program for "+platform || strings.Count(texts["etc/ssl/certs/ca-certificates.crt"], "BEGIN CERTIFICATE") < 50 {
			t.Errorf("%s: %d bytes of certificates, %q", platform, len(texts["etc/ssl/certs/ca-certificates.crt"]), texts["bunting"])
		}
	}
	var files [2][]byte
	for i := range files {
		path := filepath.Join(t.TempDir(), "image.tar")
		err := write("v0.1.0", created, path, programs)
		if err == nil {
			files[i], err = os.ReadFile(path)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(files[0], files[1]) {
		t.Error("two builds differ")
	}
}

// addLibraries copies the libraries of a program that is not static into an unpacked image. Programs
// of a release are static, but the one of the tests need not be.
func addLibraries(t *testing.T, program, root string) {
	t.Helper()
	names, err := libraries(program)
	if err != nil || len(names) == 0 {
		t.Log(names, err)
		return
	}
	out, err := exec.Command("ldd", program).Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range append(strings.Fields(string(out)), names[len(names)-1]) {
		if !strings.HasPrefix(path, "/") {
			continue
		}
		text, err := os.ReadFile(path)
		if err == nil {
			err = os.MkdirAll(filepath.Join(root, filepath.Dir(path)), 0o755)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(root, path), text, 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// page returns the command in README.md that begins with some words, with the version of the image.
func page(t *testing.T, begin string) (fields []string, version string) {
	t.Helper()
	text, err := os.ReadFile("../../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile("`(" + begin + " [^`]+)`").FindSubmatch(text)
	if m == nil {
		t.Fatalf("README.md has no command %s", begin)
	}
	fields = strings.Fields(string(m[1]))
	version, found := strings.CutPrefix(fields[len(fields)-1], repository+":")
	if !found {
		t.Fatalf("%v, want the image %s", fields, repository)
	}
	return fields, version
}

// option returns the value of an option in a command.
func option(t *testing.T, command []string, name string) string {
	t.Helper()
	i := slices.Index(command, name)
	if i < 0 {
		t.Fatalf("%v has no %s", command, name)
	}
	return command[i+1]
}

// builtImage returns the image of a release in the folder TEST_DIST, or one with the program of the tests.
func builtImage(t *testing.T, version string) (image v1.Image, program string) {
	t.Helper()
	if dist := os.Getenv("TEST_DIST"); dist != "" {
		file := filepath.Join(dist, "bunting_"+strings.TrimPrefix(version, "v")+"_image.tar")
		return read(t, file, version)["linux/"+runtime.GOARCH], ""
	}
	program = os.Getenv("TEST_BINARY")
	if program == "" {
		program = filepath.Join(t.TempDir(), "bunting")
		build := exec.Command("go", "build", "-o", program, "./cmd/bunting")
		build.Dir, build.Env = "../../..", append(os.Environ(), "GOWORK=", "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	text, err := os.ReadFile(program)
	if err == nil {
		image, err = buildOne(version, time.Unix(0, 0), &v1.Platform{OS: "linux", Architecture: runtime.GOARCH}, text)
	}
	if err != nil {
		t.Fatal(err)
	}
	return image, program
}

// The image, unpacked and with its files read-only, runs as on the page, as the user of its
// configuration. Its health check succeeds, and it decides a flag.
func TestImage_Runs(t *testing.T) {
	command, version := page(t, "docker run")
	image, program := builtImage(t, version)
	file, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	config := file.Config
	// A new volume has the owner and the permissions of the image's folder.
	_, volume, _ := strings.Cut(option(t, command, "-v"), ":")
	published := strings.Split(option(t, command, "-p"), ":") // address, port of the machine, port of the container
	if _, found := config.Volumes[volume]; !found || len(published) != 3 {
		t.Fatalf("%v, but the image has the volumes %v", command, config.Volumes)
	}
	if _, found := config.ExposedPorts[published[2]+"/tcp"]; !found {
		t.Errorf("%v, but the image has the ports %v", command, config.ExposedPorts)
	}
	root := t.TempDir()
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	files := mutate.Extract(image)
	unpack(t, files, root)
	_ = files.Close()
	if program != "" {
		addLibraries(t, program, root)
	}
	address, container := published[0]+":"+published[1], "127.0.0.1:"+published[2]
	out := runContainer(t, map[string]string{
		"ROOT": root, "VOLUMES": fmt.Sprintf("%s mode=700,uid=%d,gid=%[2]d", volume, user), "READY": "http://" + container + "/_readiness",
		"SERVE": strings.Join(append(config.Entrypoint, config.Cmd...), " "), "HEALTH": strings.Join(config.Healthcheck.Test[1:], " "),
		"URL": "http://" + address, "CONNECT": "--connect-to " + address + ":" + container,
	}, append(append([]string{"env", "-i"}, config.Env...), "/usr/sbin/chroot", "--userspec="+config.User, "--groups="+fmt.Sprint(user), root))
	for _, want := range []string{"new-checkout true\n", "stopped\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("%s\nwant %q in it", out, want)
		}
	}
}

// runContainer runs run.sh with variables.
func runContainer(t *testing.T, vars map[string]string, container []string) string {
	t.Helper()
	var script []byte
	for _, name := range []string{"../decide.sh", "run.sh"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		script = append(script, text...)
	}
	args := []string{"env"}
	for name, value := range vars {
		args = append(args, name+"="+value)
	}
	args = append(append(args, "unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "sh", "-euc", string(script), "sh"), container...)
	if os.Geteuid() != 0 {
		args = append([]string{"sudo", "-n"}, args...)
	}
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.WaitDelay = time.Minute
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}
