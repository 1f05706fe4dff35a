package remote

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/bunting-flags/bunting/flags"
)

// The origins of definitions.
const (
	FromCopy   Origin = "copy"   // the copy of the last good definitions on disk
	FromBundle Origin = "bundle" // Config.Bundle
	FromStream Origin = "stream"
	FromPoll   Origin = "poll"
)

// Origin is where definitions were loaded from.
type Origin string

// loadedDefinitions is a set of definitions in use. It is immutable: a change creates a new one.
type loadedDefinitions struct {
	set       *flags.Set
	defs      flags.Definitions
	project   flags.Project // its Revision counts the changes in this process
	sum       [sha256.Size]byte
	version   string // the ETag without quotes; empty if there is none
	from      Origin
	fetchedAt time.Time // zero for a bundle
	faults    int
}

// readDefinitions parses definitions. It rejects documents without a list of flags.
func readDefinitions(text []byte) (flags.Definitions, error) {
	d, err := flags.ParseDefinitions(text)
	if err == nil && len(d.Flags) == 0 && !hasFlagList(text) {
		err = errors.New("there is no list of flags: these are not definitions")
	}
	return d, err
}

// hasFlagList distinguishes a project without flags from a document that has no definitions.
func hasFlagList(text []byte) bool {
	var list struct{ Flags, Projects json.RawMessage }
	return json.Unmarshal(text, &list) == nil && (list.Projects != nil || list.Flags != nil && string(list.Flags) != "null")
}

// isNewer reports whether k has other definitions than before. Either may be nil.
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

// maxVersion is the maximum length in bytes of an ETag that is stored and sent back.
const maxVersion = 200

// cleanVersion returns an ETag without quotes and W/, or "" if it could not be sent back in a
// header.
func cleanVersion(etag string) string {
	v := strings.Trim(strings.TrimPrefix(strings.TrimSpace(etag), "W/"), `"`)
	if len(v) > maxVersion || strings.ContainsFunc(v, func(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == ',' }) {
		return ""
	}
	return v
}
