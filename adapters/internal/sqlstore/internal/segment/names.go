package segment

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Name returns the name of a segment of a project: the path below the folder, with slashes. arrived
// is when the first event arrived, in microseconds since 1970.
func Name(project, firstID, lastID, generation, arrived int64) string {
	return fmt.Sprintf("project=%d/received=%s/%020d-%020d-%d%s", project, time.UnixMicro(arrived).UTC().Format(time.DateOnly), firstID, lastID, generation, extension)
}

// NewName is like Name, with a random number: a server that was believed dead must not write the
// file of another one.
func NewName(project, firstID, lastID, generation, arrived int64) string {
	return fmt.Sprintf("%s-%08x%s", strings.TrimSuffix(Name(project, firstID, lastID, generation, arrived), extension), rand.Uint32(), extension)
}

// Parse returns the project and the first and the last id in the name of a segment.
func Parse(name string) (project, firstID, lastID int64, ok bool) {
	parts := names.FindStringSubmatch(name)
	if parts == nil {
		return 0, 0, 0, false
	}
	var errs [3]error
	project, errs[0] = strconv.ParseInt(parts[1], 10, 64)
	firstID, errs[1] = strconv.ParseInt(parts[2], 10, 64)
	lastID, errs[2] = strconv.ParseInt(parts[3], 10, 64)
	return project, firstID, lastID, errors.Join(errs[:]...) == nil
}

// extension ends the names of segments.
const extension = ".parquet"

// unfinished ends the names of unfinished files, which begin with a dot: many programs that read
// folders of Parquet files leave such files out.
const unfinished = ".tmp"

// names and unfinishedNames match the names of segments and of unfinished files.
var (
	names           = regexp.MustCompile(`^` + dayPattern + `/` + filePattern + `$`)
	unfinishedNames = regexp.MustCompile(`^` + dayPattern + `/\.?` + filePattern + `(?:\.\d{1,9})?\.tmp$`)
)

const (
	dayPattern  = `project=(\d{1,19})/received=-?\d{4,6}-\d\d-\d\d`
	filePattern = `(\d{20})-(\d{20})-\d{1,19}(?:-[0-9a-f]{8})?\.parquet`
)

// checkName returns an error unless a name is that of a segment.
func checkName(name string) error {
	if !names.MatchString(name) {
		return fmt.Errorf("%q is not the name of a segment, such as %s", name, Name(1, 1, 131072, 1, 0))
	}
	return nil
}

// isOurs reports whether a name is that of a segment or of an unfinished file.
func isOurs(name string) bool { return names.MatchString(name) || unfinishedNames.MatchString(name) }
