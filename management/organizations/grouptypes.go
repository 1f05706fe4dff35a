package organizations

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/bunting-flags/bunting/management"
	"github.com/bunting-flags/bunting/management/internal/storage"
)

// kindGroupType is the kind of records of the labels of group types: Parent is the project, ID the
// index of the type.
const kindGroupType = "group_type"

// maxGroupTypeLabel is the greatest length of a label, in characters.
const maxGroupTypeLabel = 400

// GroupTypeLabels are the display names of a group type, nil if not set.
type GroupTypeLabels struct {
	Singular *string `json:"name_singular"`
	Plural   *string `json:"name_plural"`
}

// groupTypeFields are the fields of a change of labels.
var groupTypeFields = management.Fields{
	{Name: "group_type_index", Type: management.Int, Required: true},
	{Name: "name_singular", Type: management.Text, Null: true, Blank: true, MaxLength: maxGroupTypeLabel},
	{Name: "name_plural", Type: management.Text, Null: true, Blank: true, MaxLength: maxGroupTypeLabel},
}

// GroupTypeLabels returns the labels of a project's group types by index (§5.4).
func (s Service) GroupTypeLabels(ctx context.Context, project int64) (map[int]GroupTypeLabels, error) {
	return management.Read(ctx, &s.Env, func(tx Tx) (map[int]GroupTypeLabels, error) { return groupTypeLabels(tx, project) })
}

// groupTypeLabels reads the labels of a project by index.
func groupTypeLabels(tx Tx, project int64) (map[int]GroupTypeLabels, error) {
	list, _, err := tx.List(management.Query{Kind: kindGroupType, Parent: management.ProjectParent(project)})
	if err != nil {
		return nil, err
	}
	out := map[int]GroupTypeLabels{}
	for i := range list {
		l, err := management.Decode[GroupTypeLabels](&list[i])
		if err != nil {
			return nil, err
		}
		index, err := strconv.Atoi(list[i].ID)
		if err != nil {
			return nil, fmt.Errorf("the stored group type %s is invalid: %w", list[i].ID, err)
		}
		out[index] = *l
	}
	return out, nil
}

// LabelGroupTypes changes labels of group types. changes are objects with a group_type_index;
// absent labels stay. It returns all labels of the project.
func (s Service) LabelGroupTypes(ctx context.Context, project int64, changes []json.RawMessage) (map[int]GroupTypeLabels, error) {
	if len(changes) > management.MaxItems {
		return nil, management.CodedFault(management.CodeMaxLength, "", "Ensure this field has no more than %d elements.", management.MaxItems)
	}
	return management.Write(ctx, &s.Env, func(tx Tx) (map[int]GroupTypeLabels, error) {
		types, err := tx.GroupTypes(project)
		if err != nil {
			return nil, err
		}
		// The labels are those of the transaction, so concurrent changes are not lost.
		labels, err := groupTypeLabels(tx, project)
		if err != nil {
			return nil, err
		}
		for i, raw := range changes {
			index, changed, err := labelGroupType(types, labels, raw)
			if err != nil {
				return nil, prefixItem(err, i)
			}
			// Later changes in the same request apply to the result of this one.
			labels[index] = changed
			record := management.Record{Kind: kindGroupType, Parent: management.ProjectParent(project), ID: strconv.Itoa(index), Data: storage.Encode(changed)}
			if err := tx.Put(&record); err != nil {
				return nil, err
			}
		}
		return labels, nil
	})
}

// labelGroupType reads one change. types are the project's group types, labels the present labels.
// It returns the index and the new labels.
func labelGroupType(types map[int]string, labels map[int]GroupTypeLabels, raw json.RawMessage) (int, GroupTypeLabels, error) {
	if kind := management.JSONKind(raw); kind != "dict" {
		return 0, GroupTypeLabels{}, management.Fault("", "Invalid data. Expected a dictionary, but got %s.", kind)
	}
	var b management.Body
	if err := json.Unmarshal(raw, &b.Members); err != nil {
		return 0, GroupTypeLabels{}, management.Fault("", "Invalid data. Expected a dictionary.")
	}
	v, err := groupTypeFields.Create(b)
	if err != nil {
		return 0, GroupTypeLabels{}, err
	}
	// Group types are created by events only, so unknown types are errors.
	index := int(v.Int("group_type_index"))
	if _, ok := types[index]; !ok {
		return 0, GroupTypeLabels{}, management.CodedFault(management.CodeDoesNotExist, "group_type_index", "Invalid pk \"%d\" - object does not exist.", index)
	}
	l := labels[index]
	management.SetNull(v, "name_singular", &l.Singular)
	management.SetNull(v, "name_plural", &l.Plural)
	return index, l, nil
}
