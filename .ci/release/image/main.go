// Image writes the image of a release, for several platforms, without a daemon: a file in the OCI
// layout, which registries and programs for containers read.
//
// The base is made here as well: certificates of authorities, a user, and folders. There is no shell.
// Equal programs and an equal time make equal files.
//
// usage: image VERSION TIME FILE PLATFORM=PROGRAM...
package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"debug/elf"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

const (
	repository = "ghcr.io/bunting-flags/bunting"
	// user is the user and the group of the program, as in other images without root.
	user = 65532
)

func main() {
	if len(os.Args) < 5 {
		fmt.Fprintln(os.Stderr, "usage: image VERSION TIME FILE PLATFORM=PROGRAM...")
		os.Exit(2)
	}
	programs := map[string]string{}
	for _, arg := range os.Args[4:] {
		platform, program, _ := strings.Cut(arg, "=")
		programs[platform] = program
		if names, err := libraries(program); err != nil || len(names) > 0 {
			fmt.Fprintf(os.Stderr, "image: %s needs libraries, which the image does not have: build it with CGO_ENABLED=0 (%v %v)\n", program, names, err)
			os.Exit(1)
		}
	}
	if err := write(os.Args[1], os.Args[2], os.Args[3], programs); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

// libraries returns the libraries that a program needs, with the one that loads them.
func libraries(program string) ([]string, error) {
	f, err := elf.Open(program)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	for _, p := range f.Progs {
		if p.Type != elf.PT_INTERP {
			continue
		}
		loader, err := io.ReadAll(p.Open())
		if err != nil {
			return nil, err
		}
		names, err := f.ImportedLibraries()
		return append(names, strings.TrimRight(string(loader), "\x00")), err
	}
	return nil, nil
}

// write writes the image of a version to a file. programs are paths by platform, such as linux/amd64.
func write(version, created, file string, programs map[string]string) error {
	at, err := time.Parse(time.RFC3339, created)
	if err != nil {
		return err
	}
	index, err := build(version, at.UTC(), programs)
	if err == nil {
		err = printSizes(index)
	}
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "image")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	path, err := layout.Write(folder, empty.Index)
	if err != nil {
		return err
	}
	if err := path.AppendIndex(index, layout.WithAnnotations(map[string]string{
		"org.opencontainers.image.ref.name": version, "io.containerd.image.name": repository + ":" + version,
	})); err != nil {
		return err
	}
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	defer func() { _ = out.Close() }()
	if err := pack(out, folder, at); err != nil {
		return err
	}
	return out.Close()
}

// printSizes prints how large the images are, compressed as registries have them, and unpacked.
func printSizes(index v1.ImageIndex) error {
	list, err := index.IndexManifest()
	if err != nil {
		return err
	}
	for _, m := range list.Manifests {
		image, err := index.Image(m.Digest)
		if err != nil {
			return err
		}
		layers, err := image.Layers()
		if err != nil {
			return err
		}
		var packed, unpacked int64
		for _, layer := range layers {
			size, err := layer.Size()
			if err != nil {
				return err
			}
			files, err := layer.Uncompressed()
			if err != nil {
				return err
			}
			n, err := io.Copy(io.Discard, files)
			if err := errors.Join(err, files.Close()); err != nil {
				return err
			}
			packed, unpacked = packed+size, unpacked+n
		}
		fmt.Printf("%s: %.1f MB to download, %.1f MB unpacked\n", m.Platform, float64(packed)/1e6, float64(unpacked)/1e6)
	}
	return nil
}

// build returns the images of a version.
func build(version string, at time.Time, programs map[string]string) (v1.ImageIndex, error) {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, name := range slices.Sorted(maps.Keys(programs)) {
		platform, err := v1.ParsePlatform(name)
		if err != nil {
			return nil, err
		}
		program, err := os.ReadFile(programs[name])
		if err != nil {
			return nil, err
		}
		image, err := buildOne(version, at, platform, program)
		if err != nil {
			return nil, err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: platform}})
	}
	return index, nil
}

func buildOne(version string, at time.Time, platform *v1.Platform, program []byte) (v1.Image, error) {
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	for _, entries := range [][]entry{base(), {{name: "bunting", mode: 0o755, text: program}}} {
		text, err := archive(at, entries)
		if err != nil {
			return nil, err
		}
		layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(text)), nil }, tarball.WithMediaType(types.OCILayer), tarball.WithCompressionLevel(gzip.DefaultCompression), tarball.WithCompressedCaching)
		if err == nil {
			image, err = mutate.Append(image, mutate.Addendum{Layer: layer, History: v1.History{Created: v1.Time{Time: at}}, MediaType: types.OCILayer})
		}
		if err != nil {
			return nil, err
		}
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.Created, config.OS, config.Architecture = v1.Time{Time: at}, platform.OS, platform.Architecture
	config.Config = v1.Config{
		User:       fmt.Sprintf("%d:%d", user, user),
		Entrypoint: []string{"/bunting"}, Cmd: []string{"serve"}, WorkingDir: "/data",
		Env:          []string{"PATH=/", "BUNTING_LISTEN=:8000", "BUNTING_DATA=/data"},
		ExposedPorts: map[string]struct{}{"8000/tcp": {}},
		Volumes:      map[string]struct{}{"/data": {}},
		Healthcheck:  &v1.HealthConfig{Test: []string{"CMD", "/bunting", "status", "--server", "http://127.0.0.1:8000"}, Interval: 30 * time.Second, Timeout: 10 * time.Second, StartPeriod: time.Minute, Retries: 3},
		Labels: map[string]string{
			"org.opencontainers.image.title": "Bunting", "org.opencontainers.image.version": version, "org.opencontainers.image.licenses": "MIT",
			"org.opencontainers.image.source": "https://github.com/bunting-flags/bunting",
		},
	}
	return mutate.ConfigFile(image, config)
}

// entry is a file or, if the name ends with a slash, a folder.
type entry struct {
	name  string
	mode  fs.FileMode
	text  []byte
	owned bool // by the user of the program
}

// base returns what the program needs of an operating system. It contains its own time zones.
func base() []entry {
	var roots bytes.Buffer
	for root := range bundle.Roots() {
		_ = pem.Encode(&roots, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}) // a buffer does not fail
	}
	return []entry{
		{name: "data/", mode: 0o700, owned: true},
		{name: "etc/", mode: 0o755},
		{name: "etc/group", mode: 0o644, text: fmt.Appendf(nil, "root:x:0:\nbunting:x:%d:\n", user)},
		{name: "etc/passwd", mode: 0o644, text: fmt.Appendf(nil, "root:x:0:0:root:/:/sbin/nologin\nbunting:x:%d:%d:bunting:/data:/sbin/nologin\n", user, user)},
		{name: "etc/ssl/", mode: 0o755},
		{name: "etc/ssl/certs/", mode: 0o755},
		{name: "etc/ssl/certs/ca-certificates.crt", mode: 0o644, text: roots.Bytes()},
		{name: "tmp/", mode: 0o777 | fs.ModeSticky},
	}
}

// archive returns the entries of a layer.
func archive(at time.Time, entries []entry) ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, e := range entries {
		h := &tar.Header{Name: e.name, Mode: int64(e.mode.Perm()), Size: int64(len(e.text)), ModTime: at, Typeflag: tar.TypeReg, Format: tar.FormatPAX}
		if strings.HasSuffix(e.name, "/") {
			h.Typeflag = tar.TypeDir
		}
		if e.mode&fs.ModeSticky != 0 {
			h.Mode |= 0o1000
		}
		if e.owned {
			h.Uid, h.Gid = user, user
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write(e.text); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return out.Bytes(), err
}

// pack writes the files of a folder as an archive, in the order of their names.
func pack(out io.Writer, folder string, at time.Time) error {
	w := tar.NewWriter(out)
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == folder {
			return err
		}
		name, err := filepath.Rel(folder, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			return w.WriteHeader(&tar.Header{Name: name + "/", Typeflag: tar.TypeDir, Mode: 0o755, ModTime: at, Format: tar.FormatUSTAR})
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if err := w.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(text)), ModTime: at, Format: tar.FormatUSTAR}); err != nil {
			return err
		}
		_, err = w.Write(text)
		return err
	})
	if err != nil {
		return err
	}
	return w.Close()
}
