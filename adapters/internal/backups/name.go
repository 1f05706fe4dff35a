package backups

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"
)

const (
	nameStart         = "bunting-"
	descriptionSuffix = ".json"
	encryptedSuffix   = ".age"
	nameTime          = "20060102T150405Z"
	// mostDescription is the maximum size of a description in bytes.
	mostDescription = 64 << 10
)

// namePattern matches the name of a backup: the id of the data folder and a time.
var namePattern = regexp.MustCompile(`^bunting-([0-9a-f]{16})-([0-9]{8}T[0-9]{6}Z)\.db(\.age)?$`)

// Backup is a complete backup in a destination.
type Backup struct {
	Name string
	// Source is the id of the data folder.
	Source string
	// At is the time in the name. It grows with each backup of a data folder, also if the
	// clock is set back.
	At   time.Time
	Size int64

	modified time.Time
}

// description is the content of a description.
type description struct {
	At     time.Time `json:"at"`     // of the state in the backup
	Schema int64     `json:"schema"` // version of the schema
	Events int64     `json:"events"`
	Size   int64     `json:"size"`   // of the database
	SHA256 string    `json:"sha256"` // of the database
	// ObjectSize and ObjectSHA256 are those of the backup as stored.
	ObjectSize   int64  `json:"object_size"`
	ObjectSHA256 string `json:"object_sha256"`
}

// IsName reports whether a name is that of a backup.
func IsName(name string) bool { return namePattern.MatchString(name) }

// parseName returns the parts of the name of a backup.
func parseName(name string) (b Backup, ok bool) {
	m := namePattern.FindStringSubmatch(name)
	if m == nil {
		return b, false
	}
	at, err := time.Parse(nameTime, m[2])
	return Backup{Name: name, Source: m[1], At: at}, err == nil
}

// listing is the content of a destination.
type listing struct {
	complete   []Backup // sorted by source and time
	incomplete []object // backups without a description, and descriptions without a backup
}

// list returns the backups of a source, or all if source is empty.
func list(ctx context.Context, d destination, source string) (out listing, err error) {
	prefix := nameStart
	if source != "" {
		prefix += source + "-"
	}
	objects, err := d.list(ctx, prefix)
	if err != nil {
		return out, err
	}
	described := map[string]object{}
	for _, o := range objects {
		if name, ok := strings.CutSuffix(o.name, descriptionSuffix); ok && namePattern.MatchString(name) {
			described[name] = o
		}
	}
	for _, o := range objects {
		b, ok := parseName(o.name)
		if !ok {
			continue // another program's
		}
		if _, has := described[o.name]; !has {
			out.incomplete = append(out.incomplete, o)
			continue
		}
		delete(described, o.name)
		b.Size, b.modified = o.size, o.modified
		out.complete = append(out.complete, b)
	}
	for _, o := range described {
		out.incomplete = append(out.incomplete, o)
	}
	slices.SortFunc(out.complete, func(a, b Backup) int {
		return cmp.Or(strings.Compare(a.Source, b.Source), a.At.Compare(b.At))
	})
	return out, nil
}

// newest returns the newest backup of a listing of one source, or nil.
func (l *listing) newest() *Backup {
	if len(l.complete) == 0 {
		return nil
	}
	return &l.complete[len(l.complete)-1]
}

// describe reads the description of a backup.
func describe(ctx context.Context, d destination, name string) (out description, err error) {
	r, err := d.open(ctx, name+descriptionSuffix)
	if err != nil {
		return out, err
	}
	defer func() { _ = r.Close() }()
	text, err := io.ReadAll(io.LimitReader(r, mostDescription+1))
	if err == nil && len(text) > mostDescription {
		err = errors.New("it is too long")
	}
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		return out, fmt.Errorf("%s of %s cannot be read: %w", name+descriptionSuffix, d, err)
	}
	return out, nil
}
