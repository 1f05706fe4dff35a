package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// adoptOrphans sets this process as the new parent of every descendant after its own parent has
// ended, so that descendants finds servers and browsers that a killed test left running.
func adoptOrphans() {
	const setChildSubreaper = 36 // PR_SET_CHILD_SUBREAPER of linux/prctl.h
	syscall.RawSyscall(syscall.SYS_PRCTL, setChildSubreaper, 1, 0)
}

// descendants returns "pid command line" for each running process that this process or one of its
// descendants has started.
func descendants() []string {
	children := map[int][]int{}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, file := range stats {
		pid, parent, state := readStat(file)
		if state != "Z" && pid > 0 {
			children[parent] = append(children[parent], pid)
		}
	}
	var found []string
	for queue := children[os.Getpid()]; len(queue) > 0; queue = queue[1:] {
		pid := queue[0]
		queue = append(queue, children[pid]...)
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if text := strings.TrimSpace(string(bytes.ReplaceAll(line, []byte{0}, []byte{' '}))); text != "" {
			found = append(found, fmt.Sprintf("%d %.120s", pid, text))
		}
	}
	slices.Sort(found)
	return found
}

// totalCPU reaps the adopted processes that have ended, and returns the processor time of this process
// and of all descendants that have ended. It must not be called while a command is running.
func totalCPU() time.Duration {
	for {
		pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
		if err != syscall.EINTR && pid <= 0 {
			break
		}
	}
	var sum time.Duration
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var usage syscall.Rusage
		if syscall.Getrusage(who, &usage) == nil {
			sum += time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
		}
	}
	return sum
}

// readStat returns the process, its parent and its state from a file /proc/<pid>/stat, or zeros if
// the process has ended.
func readStat(file string) (pid, parent int, state string) {
	text, err := os.ReadFile(file)
	end := bytes.LastIndexByte(text, ')') // the end of the command's name, which may contain spaces
	if err != nil || end < 0 {
		return 0, 0, ""
	}
	fields := strings.Fields(string(text[end+1:]))
	if len(fields) < 2 {
		return 0, 0, ""
	}
	pid, _ = strconv.Atoi(filepath.Base(filepath.Dir(file)))
	parent, _ = strconv.Atoi(fields[1])
	return pid, parent, fields[0]
}

// killDescendants ends every descendant: with SIGTERM, and two seconds later with SIGKILL.
func killDescendants() {
	signal := syscall.SIGTERM
	for begin := time.Now(); time.Since(begin) < 10*time.Second; time.Sleep(50 * time.Millisecond) {
		remaining := descendants()
		if len(remaining) == 0 {
			return
		}
		if time.Since(begin) > 2*time.Second {
			signal = syscall.SIGKILL
		}
		for _, text := range remaining {
			pid, _ := strconv.Atoi(strings.Fields(text)[0])
			_ = syscall.Kill(pid, signal) // it may have ended meanwhile
		}
	}
}
