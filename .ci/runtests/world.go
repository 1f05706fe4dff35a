package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// world is the state that the steps of one run share.
type world struct {
	tier   tier
	report *report
	cache  string // the folder of programs that tests start

	mu  sync.Mutex
	env []string // for all commands: the paths of these programs

	changes func() (change, error)
}

func newWorld(t tier, r *report) (*world, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return nil, err
	}
	w := &world{tier: t, report: r, cache: filepath.Join(dir, "bunting-tests")}
	w.changes = sync.OnceValues(w.findChanges)
	inputs, err := hashInputs()
	if err != nil {
		return nil, err
	}
	w.env = []string{"TEST_INPUTS=" + inputs}
	return w, nil
}

// programs returns the environment variables with the paths of the programs that tests start.
func (w *world) programs() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.env)
}

// build builds a program from a package in dir, and passes its path to the tests of later steps in
// an environment variable. The path contains a hash of the program, so that Go's cache of test
// results distinguishes the results for different programs.
func (r *stepRun) build(variable, dir, pkg string) {
	name := filepath.Base(pkg)
	fresh := filepath.Join(r.cache, fmt.Sprintf("%s.%d", name, os.Getpid())) // another run may build it now
	defer os.Remove(fresh)                                                   // fails if it was moved
	c := command{dir: dir, args: []string{"go", "build", "-buildvcs=false", "-o", fresh, pkg}}
	if out, err := r.output(c); err != nil {
		r.fail("build of "+name, out, c.String())
		return
	}
	hash, err := hashFile(fresh)
	path := filepath.Join(r.cache, hash, name)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o755)
	}
	if err == nil {
		err = os.Rename(fresh, path)
	}
	if err != nil {
		r.fail("build of "+name, err.Error(), "")
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.env = append(r.env, variable+"="+path)
}

// removeOld deletes programs that no run has built for a week.
func (w *world) removeOld() {
	folders, _ := filepath.Glob(filepath.Join(w.cache, "*", "*"))
	for _, program := range folders {
		if info, err := os.Stat(program); err == nil && time.Since(info.ModTime()) > 7*24*time.Hour {
			_ = os.RemoveAll(filepath.Dir(program)) // the next run tries again
		}
	}
}

func hashFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil))[:16], nil
}

// hashInputs returns a hash of the repository's files other than Go code and pages. Go's cache of
// test results tracks the compiled code, and the files of a test's own module that it opens; it
// does not track files of other modules.
func hashInputs() (string, error) {
	files, err := git("ls-files", "--cached", "--others", "--exclude-standard")
	if err != nil {
		return "", err
	}
	h := sha256.New()
	for _, file := range files {
		if ext := filepath.Ext(file); ext == ".go" || ext == ".md" {
			continue
		}
		sum, err := hashFile(file)
		if os.IsNotExist(err) {
			continue
		} else if err != nil {
			return "", err
		}
		fmt.Fprintf(h, "%s %s\n", sum, file)
	}
	return hex.EncodeToString(h.Sum(nil))[:16], nil
}

// git returns the lines that git prints, without empty lines.
func git(args ...string) ([]string, error) {
	out, err := outputOf("git", args...)
	lines := strings.Split(out, "\n")
	return slices.DeleteFunc(lines, func(line string) bool { return line == "" }), err
}

// outputOf runs a program that ends soon and returns its output.
func outputOf(name string, args ...string) (string, error) {
	cmd := exec.CommandContext(context.Background(), name, args...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, stderr.String())
	}
	return string(out), nil
}

// existing returns the files that exist: git also lists deleted ones.
func existing(files []string) []string {
	return slices.DeleteFunc(files, func(file string) bool {
		_, err := os.Stat(file)
		return err != nil
	})
}
