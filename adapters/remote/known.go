package remote

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/flags"
)

// Where definitions come from.
const (
	FromCopy   Origin = "copy"   // of the last good ones, on disk
	FromBundle Origin = "bundle" // Config.Bundle
	FromStream Origin = "stream"
	FromPoll   Origin = "poll"
)

// Origin says where definitions came from.
type Origin string

// loadedDefinitions is what a source has. It never changes: a change makes another.
type loadedDefinitions struct {
	set       *flags.Set
	defs      flags.Definitions
	project   flags.Project // its Revision counts the changes of this process
	sum       [sha256.Size]byte
	version   string // the ETag's bare value, empty: none
	from      Origin
	fetchedAt time.Time // when it was fetched, zero for a bundle
	faults    int
}

// readDefinitions reads what has to be definitions.
func readDefinitions(text []byte) (flags.Definitions, error) {
	d, err := flags.ParseDefinitions(text)
	if err == nil && len(d.Flags) == 0 && !hasFlagList(text) {
		err = errors.New("there is no list of flags: it is no definitions")
	}
	return d, err
}

// hasFlagList tells a project without flags from an answer that says nothing of flags.
func hasFlagList(text []byte) bool {
	var list struct{ Flags, Projects json.RawMessage }
	return json.Unmarshal(text, &list) == nil && (list.Projects != nil || list.Flags != nil && string(list.Flags) != "null")
}

// isNewer reports whether k are other definitions than before; either may be nil.
func (k *loadedDefinitions) isNewer(before *loadedDefinitions) bool {
	return k != nil && (before == nil || k.project.Revision != before.project.Revision)
}

func (k *loadedDefinitions) definitions() *flags.Definitions {
	if k == nil {
		return nil
	}
	return &k.defs
}

func (k *loadedDefinitions) flags() *flags.Set {
	if k == nil {
		return nil
	}
	return k.set
}

// maxVersion bounds the ETag that is kept and sent back, in bytes.
const maxVersion = 200

// cleanVersion is the bare value of an ETag, empty where it could not be sent back.
func cleanVersion(etag string) string {
	v := strings.Trim(strings.TrimPrefix(strings.TrimSpace(etag), "W/"), `"`)
	if len(v) > maxVersion || strings.ContainsFunc(v, func(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == ',' }) {
		return ""
	}
	return v
}
