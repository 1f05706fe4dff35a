package storedflags

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/definitions"
	"github.com/bunting-flags/bunting/management/internal/storage"
)

// KindVersion is the kind of the records of versions. Parent refers to the flag; ID and Sort
// are the version.
const KindVersion = "flag_version"

// VersionsParent returns the Parent of the records of a flag's versions.
func VersionsParent(f *Flag) string { return fmt.Sprintf("project:%d/flag:%d", f.Project, f.ID) }

// Version is a version of a flag as stored.
type Version struct {
	// Version is the number of the version, from 1.
	Version int64 `json:"version"`
	// At is the time of the change.
	At management.Stamp `json:"created_at"`
	// By is the id of the user who made the change.
	By int64 `json:"created_by"`
	// Record and Meta are as in Definition.
	Record json.RawMessage `json:"record"`
	Meta   json.RawMessage `json:"meta"`
	// Note is the reason for the change, optional.
	Note string `json:"change_note,omitempty"`
}

// saveVersion stores the current state of a flag as its version. It overwrites the record if the
// write did not increment the version, for example if only links have changed.
func saveVersion(tx definitions.Tx, f *Flag) error {
	v := Version{f.Version, f.UpdatedAt, f.ModifiedBy, f.Record(), storage.Encode(f.Meta), f.Note}
	if v.Note == "" && f.Before != nil && f.Before.Version == f.Version { // keep the note if the version is the same
		previous, err := management.Found[Version](tx.Get(KindVersion, VersionsParent(f), strconv.FormatInt(f.Version, 10)))
		if err != nil {
			return err
		}
		if previous != nil {
			v.Note = previous.Note
		}
	}
	return tx.Put(&management.Record{
		Kind: KindVersion, Parent: VersionsParent(f), ID: strconv.FormatInt(f.Version, 10), Sort: storage.SortNumber(f.Version), Data: storage.Encode(v),
	})
}

// deleteVersions deletes the records of all versions of a flag.
func deleteVersions(tx definitions.Tx, f *Flag) error {
	return tx.DeleteUnder(KindVersion, VersionsParent(f))
}

// FlagAt returns the flag in the state of a version.
func (v *Version) FlagAt(f *Flag) (*Flag, error) {
	var header struct {
		Key     string `json:"key"`
		Deleted bool   `json:"deleted"`
	}
	if err := json.Unmarshal(v.Record, &header); err != nil {
		return nil, fmt.Errorf("the stored version %d of the flag %d is invalid: %w", v.Version, f.ID, err)
	}
	old, err := Decode(f.Project, &management.Definition{ID: f.ID, Key: header.Key, Record: v.Record, Meta: v.Meta, Deleted: header.Deleted})
	if err == nil {
		old.Pins = f.Pins // pins are not part of versions
	}
	return old, err
}
