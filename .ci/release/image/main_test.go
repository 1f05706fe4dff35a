package main

import (
	"archive/tar"
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
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

// images writes an image, reads it as a registry would, and returns its images by platform.
func images(t *testing.T, programs map[string]string) map[string]v1.Image {
	t.Helper()
	file, folder := filepath.Join(t.TempDir(), "image.tar"), t.TempDir()
	if err := write("v0.1.0", created, file, programs); err != nil {
		t.Fatal(err)
	}
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
	if err != nil || len(top.Manifests) != 1 || top.Manifests[0].Annotations["org.opencontainers.image.ref.name"] != "v0.1.0" {
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
	found := images(t, programs)
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

//go:embed run.sh
var runScript string

// The image, unpacked and with its files read-only, serves and decides a flag as the user of its
// configuration, and its health check succeeds.
func TestImage_Runs(t *testing.T) {
	program := os.Getenv("TEST_BINARY")
	if program == "" {
		program = filepath.Join(t.TempDir(), "bunting")
		build := exec.Command("go", "build", "-o", program, "./cmd/bunting")
		build.Dir, build.Env = "../../..", append(os.Environ(), "GOWORK=", "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	text, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	image, err := buildOne("v0.1.0", time.Unix(0, 0), &v1.Platform{OS: "linux", Architecture: runtime.GOARCH}, text)
	if err != nil {
		t.Fatal(err)
	}
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	files := mutate.Extract(image)
	unpack(t, files, root)
	_ = files.Close()
	addLibraries(t, program, root)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	args := []string{"unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-euc", runScript, "sh", root, l.Addr().String(), "env", "-i"}
	args = append(append(args, config.Config.Env...), "/usr/sbin/chroot", "--userspec="+config.Config.User, "--groups=65532", root)
	if os.Geteuid() != 0 {
		args = append([]string{"sudo", "-n"}, args...)
	}
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.WaitDelay = time.Minute
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{`"new-checkout":{"key":"new-checkout","enabled":true`, "\nstopped\n"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("%s\nwant %q in it", out, want)
		}
	}
}
