//go:build linux && amd64

package sqlstore

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// The phases of the process that TestSegments_KilledAtEveryStep kills.
const (
	phaseStart  = "start"  // removes the files that are not listed
	phaseCommit = "commit" // of events, and of an erasure
	phaseSeal   = "seal"   // writes a file with the events of blocks, and lists it
	phaseDelete = "delete" // deletes the columns and chunks of these, in short transactions
	phaseMerge  = "merge"  // writes and lists a file with the events of three
	phaseErase  = "erase"  // writes and lists a file without the erased events
	phaseRemove = "remove" // removes the files that were replaced
)

// stepsOfFile are the steps that write a file and list it.
var stepsOfFile = []string{"create unfinished", "write unfinished", "sync unfinished", "rename unfinished", "sync folder", "write log", "sync log"}

// everyStep are the steps, by phase, at which the process must have been killed. It is killed before the
// step is done.
var everyStep = map[string][]string{
	phaseStart: {"remove segment"}, phaseCommit: {"write log", "sync log"}, phaseSeal: stepsOfFile, phaseMerge: stepsOfFile, phaseErase: stepsOfFile,
	phaseDelete: {"write log", "sync log"}, phaseRemove: {"remove segment"},
}

// TestSegmentsSteps_Child is the process that TestSegments_KilledAtEveryStep kills. It prints a line when a
// phase begins, and after each step that is durable.
func TestSegmentsSteps_Child(t *testing.T) {
	folder := os.Getenv("SEGMENTS_STEPS")
	if folder == "" {
		return
	}
	say := func(line string) { _, _ = os.Stdout.WriteString(line + "\n") }
	say("phase " + phaseStart)
	s := openStepped(t, folder)
	for first := 400; first < 700; first += 150 {
		say("phase " + phaseCommit)
		say(fmt.Sprintf("try batch %d 150", first))
		commitKillBatch(t, s, first, 150)
		say(fmt.Sprintf("batch %d 150", first))
	}
	indexAll(t, s)
	sealInPhases(t, s, say)
	say("phase " + phaseCommit)
	say("try erase 3")
	eraseKillID(t, s, 3)
	say("erase 3")
	sealInPhases(t, s, say)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// openStepped opens the store of a folder.
func openStepped(t testing.TB, folder string) *Store {
	t.Helper()
	return openMerging(t, "sqlite:"+filepath.Join(folder, "store.db"), filepath.Join(folder, "events"))
}

// sealInPhases seals all events, and reports the phase of each step.
func sealInPhases(t *testing.T, s *Store, say func(line string)) {
	t.Helper()
	for more := true; more; {
		var sealed, unsealed, erased, segments int
		if err := s.db.Read.QueryRow(`SELECT (SELECT COUNT(*) FROM event_chunks WHERE last_id <= (SELECT MAX(last_id) FROM event_segments)),
			(SELECT COUNT(*) FROM event_blocks WHERE level < 16), (SELECT COUNT(*) FROM event_erased), (SELECT COUNT(*) FROM event_segments)`).Scan(&sealed, &unsealed, &erased, &segments); err != nil {
			t.Fatal(err)
		}
		phase := phaseRemove
		switch {
		case sealed > 0:
			phase = phaseDelete
		case unsealed > 0:
			phase = phaseSeal
		case erased > 0:
			phase = phaseErase
		case segments >= 3:
			phase = phaseMerge
		}
		say("phase " + phase)
		var err error
		if more, err = s.events.Seal(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// A process is killed at each step of sealing, deleting what is sealed, merging, erasing, and removing files:
// before each kind of system call that changes a file. No acknowledged event is lost or stored twice, no
// erased event is stored, and no file is left that is not listed. A server that is started afterwards
// continues.
func TestSegments_KilledAtEveryStep(t *testing.T) {
	base := t.TempDir()
	s := openStepped(t, base)
	model := killModel{}
	for first := 0; first < 400; first += 200 {
		commitKillBatch(t, s, first, 200)
		model.apply(fmt.Sprintf("batch %d 200", first))
		indexAll(t, s)
		sealAll(t, s)
	}
	eraseKillID(t, s, 5)
	model.apply("erase 5")
	if _, err := s.events.Seal(t.Context()); err != nil { // one of the replaced files remains
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	all := traceSteps(t, base, model, "", 0)
	if all.killed {
		t.Fatal("the process was killed")
	}
	random := rand.New(rand.NewPCG(31, 32))
	hits := map[string]int{}
	for _, target := range killTargets(random, all.steps, *killCycles) {
		isKilled := traceSteps(t, base, model, target.step, target.count).killed
		if !isKilled && target.count > 1 { // it was done less often than in the other run
			isKilled = traceSteps(t, base, model, target.step, 1).killed
		}
		if isKilled {
			hits[target.step]++
		}
	}
	for phase, steps := range everyStep {
		for _, step := range steps {
			if name := phase + ": " + step; hits[name] == 0 {
				t.Errorf("the process was not killed at %q; the steps were %q", name, slices.Sorted(maps.Keys(all.steps)))
			}
		}
	}
	kills := 0
	for _, n := range hits {
		kills += n
	}
	t.Logf("%d kills at %d of %d different steps: %v", kills, len(hits), len(all.steps), hits)
}

// killTarget is the count-th time that a step is done.
type killTarget struct {
	step  string
	count int
}

// killTargets returns n targets or more: first one for each step, and then random steps.
func killTargets(random *rand.Rand, steps map[string]int, n int) (list []killTarget) {
	names := slices.Sorted(maps.Keys(steps))
	for i := range max(n, len(names)) {
		if i >= len(names) {
			i = random.IntN(len(names))
		}
		list = append(list, killTarget{names[i], 1 + random.IntN(steps[names[i]])})
	}
	return list
}

// steppedRun is a run of the child.
type steppedRun struct {
	steps  map[string]int // how often each step was done
	killed bool
}

// traceSteps runs the child on a copy of a store, kills it before a step is done for the count-th time,
// unless count is 0, and checks the store afterwards.
func traceSteps(t *testing.T, base string, model killModel, step string, count int) steppedRun {
	t.Helper()
	dir, err := os.MkdirTemp("", "segments-steps-") // removed at once, because there are many
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir) // the tracer sees such paths
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	folder := filepath.Join(dir, "store")
	if err := os.CopyFS(folder, os.DirFS(base)); err != nil {
		t.Fatal(err)
	}
	out, err := os.Create(filepath.Join(dir, "output"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = out.Close() }()
	child := exec.Command(os.Args[0], "-test.run=^TestSegmentsSteps_Child$")
	child.Env = append(os.Environ(), "SEGMENTS_STEPS="+folder, "GOMAXPROCS=1", "GODEBUG=asyncpreemptoff=1")
	child.Stdout, child.Stderr = out, out
	tr := tracer{folder: folder, step: step, count: count, run: steppedRun{steps: map[string]int{}}}
	if err := tr.trace(child); err != nil {
		t.Fatalf("the child could not be traced: %v", err)
	}
	printed, err := os.ReadFile(out.Name())
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(printed), "\n"), "\n")
	if !tr.run.killed && !slices.Contains(lines, "PASS") {
		t.Fatalf("the child ended itself:\n%s", printed)
	}
	checkKilled(t, folder, maps.Clone(model), lines, fmt.Sprintf("killed at %q, %d", step, count))
	return tr.run
}

// checkKilled compares the store of a killed process with a model and the lines of the process, before and
// after all events are sealed.
func checkKilled(t *testing.T, folder string, model killModel, lines []string, when string) {
	t.Helper()
	last := ""
	for _, line := range lines {
		if rest, isTried := strings.CutPrefix(line, "try "); isTried {
			last = rest
		} else if line == last {
			model.apply(line)
			last = ""
		}
	}
	var sealed bool
	address, files := "sqlite:"+filepath.Join(folder, "store.db"), filepath.Join(folder, "events")
	got := killedStore(t, address, files, &sealed)
	if last != "" && !maps.Equal(got, model) { // the last step may have been durable
		model.apply(last)
	}
	if !maps.Equal(got, model) {
		t.Fatalf("%s: %d events are stored, want %d", when, len(got), len(model))
	}
	s := openStepped(t, folder)
	indexAll(t, s)
	for range 2 { // the second time removes the files that were replaced
		sealAll(t, s)
	}
	checkDeleted(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if got := killedStore(t, address, files, &sealed); !maps.Equal(got, model) {
		t.Fatalf("%s, continued: %d events are stored, want %d", when, len(got), len(model))
	}
}

// tracer runs a process and stops it at each system call.
type tracer struct {
	folder string
	// step and count are the step before which the process is killed.
	step  string
	count int
	phase string
	run   steppedRun
}

// waitOwn has __WNOTHREAD: only children of this thread are waited for. exitKill is
// PTRACE_O_EXITKILL.
const (
	waitOwn  = syscall.WALL | 0x20000000
	exitKill = 0x100000
)

// trace runs a process until it ends.
func (tr *tracer) trace(cmd *exec.Cmd) error {
	runtime.LockOSThread() // only the thread that starts a process can trace it
	defer runtime.UnlockOSThread()
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	defer func() { _ = cmd.Process.Release() }()
	pid := cmd.Process.Pid
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(pid, &status, 0, nil); err != nil {
		return err
	}
	if err := syscall.PtraceSetOptions(pid, syscall.PTRACE_O_TRACESYSGOOD|syscall.PTRACE_O_TRACECLONE|exitKill); err != nil {
		return err
	}
	inCall := map[int]bool{} // by thread
	for thread, signal := pid, 0; ; {
		// It fails for a thread that was killed meanwhile, whose end is reported next.
		if err := syscall.PtraceSyscall(thread, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
			return err
		}
		var err error
		if thread, err = wait(pid, &status); err != nil || thread == 0 {
			return err
		}
		if signal = tr.signalOf(status, inCall, thread); signal < 0 {
			signal = 0
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				return err
			}
		}
	}
}

// wait waits until a thread of the process stops, and returns 0 if the process has ended.
func wait(pid int, status *syscall.WaitStatus) (thread int, err error) {
	for {
		thread, err = syscall.Wait4(-1, status, waitOwn, nil)
		switch ended := status.Exited() || status.Signaled(); {
		case errors.Is(err, syscall.EINTR):
		case err != nil || ended && thread == pid:
			return 0, err
		case !ended:
			return thread, nil
		}
	}
}

// signalOf returns the signal to deliver to a thread that has stopped, 0 if it has stopped for the tracer
// only, and -1 to kill the process.
func (tr *tracer) signalOf(status syscall.WaitStatus, inCall map[int]bool, thread int) int {
	_, hasStarted := inCall[thread]
	switch signal := status.StopSignal(); {
	case signal == syscall.SIGTRAP|0x80: // a system call begins or ends
		if inCall[thread] = !inCall[thread]; inCall[thread] && tr.isReached(thread) {
			return -1
		}
	case signal == syscall.SIGSTOP && !hasStarted: // a new thread
		inCall[thread] = false
	case signal != syscall.SIGTRAP: // of a new thread, in the one that starts it
		return int(signal)
	}
	return 0
}

// isReached counts the step that a thread begins, and reports whether the process is to be killed.
func (tr *tracer) isReached(thread int) bool {
	step := tr.stepOf(thread)
	if step == "" || tr.run.killed {
		return false
	}
	step = tr.phase + ": " + step
	tr.run.steps[step]++
	tr.run.killed = step == tr.step && tr.run.steps[step] == tr.count
	return tr.run.killed
}

// fileCalls are the system calls that change files, by number, with the place of their argument with the
// file: a descriptor, or a path.
var fileCalls = map[uint64]struct {
	name   string
	at     int
	isPath bool
}{
	syscall.SYS_WRITE: {"write", 0, false}, syscall.SYS_PWRITE64: {"write", 0, false}, syscall.SYS_FTRUNCATE: {"truncate", 0, false},
	syscall.SYS_FSYNC: {"sync", 0, false}, syscall.SYS_FDATASYNC: {"sync", 0, false},
	syscall.SYS_OPEN: {"create", 0, true}, syscall.SYS_OPENAT: {"create", 1, true},
	syscall.SYS_RENAME: {"rename", 0, true}, syscall.SYS_RENAMEAT: {"rename", 1, true},
	syscall.SYS_UNLINK: {"remove", 0, true}, syscall.SYS_UNLINKAT: {"remove", 1, true}, syscall.SYS_RMDIR: {"remove", 0, true},
	syscall.SYS_MKDIR: {"create", 0, true}, syscall.SYS_MKDIRAT: {"create", 1, true},
}

// stepOf returns the name of the system call that a thread begins, if it changes a file of the store, such as
// "write log". It sets the phase that the process prints.
func (tr *tracer) stepOf(thread int) string {
	var r syscall.PtraceRegs
	if err := syscall.PtraceGetRegs(thread, &r); err != nil {
		return ""
	}
	call, ok := fileCalls[r.Orig_rax]
	arguments := [...]uint64{r.Rdi, r.Rsi, r.Rdx}
	switch {
	case !ok || (r.Orig_rax == syscall.SYS_OPEN || r.Orig_rax == syscall.SYS_OPENAT) && arguments[call.at+1]&syscall.O_CREAT == 0:
		return ""
	case r.Orig_rax == syscall.SYS_WRITE && r.Rdi == 1:
		if phase, found := strings.CutPrefix(readText(thread, r.Rsi, int(r.Rdx)), "phase "); found {
			tr.phase = strings.TrimSpace(phase)
		}
		return ""
	}
	var path string
	if call.isPath {
		path, _, _ = strings.Cut(readText(thread, arguments[call.at], 4096), "\x00")
	} else {
		path, _ = os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", thread, int32(arguments[call.at])))
	}
	if path != tr.folder && !strings.HasPrefix(path, tr.folder+"/") {
		return ""
	}
	return call.name + " " + fileKind(path)
}

// readText reads memory of a stopped thread, up to n bytes.
func readText(thread int, address uint64, n int) string {
	file, err := os.Open(fmt.Sprintf("/proc/%d/mem", thread))
	if err != nil {
		return ""
	}
	defer func() { _ = file.Close() }()
	text := make([]byte, n)
	read, _ := file.ReadAt(text, int64(address)) // fewer bytes if the next page is not used
	return string(bytes.Clone(text[:read]))
}

// fileKind returns the kind of a file or folder of a store.
func fileKind(path string) string {
	for suffix, kind := range map[string]string{".tmp": "unfinished", ".parquet": "segment", ".db-wal": "log", ".db-shm": "index of the log", ".db": "database", ".lock": "lock"} {
		if strings.HasSuffix(path, suffix) {
			return kind
		}
	}
	if info, err := os.Stat(path); err == nil && !info.IsDir() {
		return "file"
	}
	return "folder"
}
