package memory

import (
	"os"
	"path"
	"strconv"
	"strings"
	"syscall"
)

// machine returns how much memory the process can have, in bytes: the memory of the machine, or less in a control group
// with a limit, as containers and services of systemd with MemoryMax have. It returns 0 if the memory is not found out.
func machine() int64 {
	var info syscall.Sysinfo_t
	if err := syscall.Sysinfo(&info); err != nil {
		return 0
	}
	groups, _ := os.ReadFile("/proc/self/cgroup") // without it, there is no limit
	return groupLimit("/sys/fs/cgroup", string(groups), int64(info.Totalram)*int64(info.Unit))
}

// groupLimit returns the least limit of a process's control groups (version 2), if it is below most. root is the
// folder of all groups, and groups the content of /proc/PID/cgroup.
func groupLimit(root, groups string, most int64) int64 {
	_, dir, ok := strings.Cut("\n"+groups, "\n0::/")
	if !ok {
		return most
	}
	dir, _, _ = strings.Cut(dir, "\n")
	for dir = path.Clean("/" + dir); ; dir = path.Dir(dir) {
		text, _ := os.ReadFile(path.Join(root, dir, "memory.max")) // the word max, or missing, if there is no limit
		if limit, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && limit < most {
			most = limit
		}
		if dir == "/" {
			return most
		}
	}
}
