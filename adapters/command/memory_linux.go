package command

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"syscall"
)

// unmapProgram removes the code and the constants of the program from the memory of the process. They
// stay in the kernel's cache of the program's file, and the next use of a page maps it from there. The
// start uses most packages, and with each page the kernel maps up to 15 pages around it, so that without
// this most of the file would stay in the memory of the process. A mapping with changed pages, such as
// the breakpoints of a debugger, does not change.
func unmapProgram() {
	mappings, err := os.Open("/proc/self/smaps")
	if err != nil {
		return
	}
	defer mappings.Close()
	program, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return
	}
	var from, to uintptr // of a mapping of the program that is never written
	for lines := bufio.NewScanner(mappings); lines.Scan(); {
		line := lines.Text()
		var first, end uintptr
		var permissions string
		if n, _ := fmt.Sscanf(line, "%x-%x %s", &first, &end, &permissions); n == 3 {
			from, to = 0, 0
			if strings.HasSuffix(line, " "+program) && (permissions == "r-xp" || permissions == "r--p") {
				from, to = first, end
			}
		}
		if strings.HasPrefix(line, "Anonymous:") && strings.HasSuffix(line, " 0 kB") && to > 0 {
			// The advice is not needed for correctness, so its failure has no effect.
			_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, from, to-from, syscall.MADV_DONTNEED)
		}
	}
}
