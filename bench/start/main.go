// Command start measures the program before any load: its size and that of the image, the time from a
// start to the first response with flags, and the memory of a server without requests. It builds the
// program and the image as a release does.
//
// Usage: go run ./start [-n rounds] [-idle d]
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"time"
)

func main() {
	rounds := flag.Int("n", 21, "starts of each kind; the table has medians, and minimum and maximum")
	idle := flag.Duration("idle", 20*time.Second, "how long a server has had no request when its memory is read")
	flag.Parse()
	if err := measure(*rounds, *idle); err != nil {
		fmt.Fprintln(os.Stderr, "start:", err)
		os.Exit(1)
	}
}

func measure(rounds int, idle time.Duration) error {
	if rounds < 1 || flag.NArg() > 0 {
		return errors.New("want one round at least, and nothing but flags")
	}
	dir, err := os.MkdirTemp("", "bunting-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "bunting")
	if err := measureSizes(program); err != nil {
		return err
	}
	existing := filepath.Join(dir, "existing")
	if err := fill(program, existing); err != nil {
		return err
	}
	for _, kind := range []struct {
		name   string
		folder func(round int) string
	}{
		{"start on an empty folder", func(round int) string { return filepath.Join(dir, fmt.Sprint("empty", round)) }},
		{"start on a folder with the demo", func(int) string { return existing }},
	} {
		var took []time.Duration
		var used memory
		for round := range rounds {
			s := &server{program: program, folder: kind.folder(round)}
			answered, err := s.start()
			if err == nil && round == rounds-1 {
				used, err = s.memory(idle)
			}
			if err := errors.Join(err, s.stop()); err != nil {
				return fmt.Errorf("%s: %w\n%s", kind.name, err, s.out.String())
			}
			took = append(took, answered)
		}
		slices.Sort(took)
		fmt.Printf("%-32s %.0f ms (%.0f to %.0f), then %.0f MB of memory, with %.0f MB of the program's file\n", kind.name,
			ms(took[len(took)/2]), ms(took[0]), ms(took[len(took)-1]), megabytes(used.resident), megabytes(used.file))
	}
	return nil
}

// measureSizes builds the program and the image, and prints their sizes.
func measureSizes(program string) error {
	build := exec.Command("go", "build", "-C", "..", "-trimpath", "-ldflags=-s -w", "-o", program, "./cmd/bunting")
	build.Env, build.Stderr = append(os.Environ(), "CGO_ENABLED=0"), os.Stderr
	if err := build.Run(); err != nil {
		return err
	}
	info, err := os.Stat(program)
	if err != nil {
		return err
	}
	fmt.Printf("%-32s %.1f MB\n", "program", megabytes(info.Size()))
	image := exec.Command("go", "run", "-C", "../.ci/release", "./image", "v0.1.0", "2026-01-01T00:00:00Z", program+".image.tar", "linux/"+runtime.GOARCH+"="+program)
	image.Env, image.Stderr = append(os.Environ(), "GOWORK=off"), os.Stderr
	sizes, err := image.Output()
	if err == nil {
		fmt.Printf("%-32s %s", "image", sizes)
	}
	return err
}

// fill stores the data of the demo, a month of events, in a new folder.
func fill(program, folder string) error {
	s := &server{program: program, folder: folder}
	_, err := s.start()
	if err == nil {
		demo := exec.Command(program, "demo", "--server", "http://"+s.address, "--key", s.out.find(ownerKey))
		if out, failure := demo.CombinedOutput(); failure != nil {
			err = fmt.Errorf("%w: %s", failure, out)
		}
	}
	if err := errors.Join(err, s.stop()); err != nil {
		return fmt.Errorf("the demo: %w\n%s", err, s.out.String())
	}
	return nil
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func megabytes(n int64) float64 { return float64(n) / 1e6 }
