package resource

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/bunting-flags/bunting/management"
)

// ReadUpdate reads the body of a request that changes an object: like Fields.Create for PUT, like
// Fields.Change for PATCH (§2.5).
func ReadUpdate(f management.Fields, b management.Body, put bool) (management.Values, error) {
	if put {
		return f.Create(b)
	}
	return f.Change(b)
}

// memberTypes are the Go types of the struct members that store fields, by the field's Type. A
// member may also be a pointer to that type. A null sets it to its zero value.
var memberTypes = [...]reflect.Type{
	management.Text: reflect.TypeFor[string](), management.Email: reflect.TypeFor[string](), management.URL: reflect.TypeFor[string](), management.UUID: reflect.TypeFor[string](), management.Choice: reflect.TypeFor[string](),
	management.Int: reflect.TypeFor[int64](), management.IntChoice: reflect.TypeFor[int64](), management.Bool: reflect.TypeFor[bool](), management.Time: reflect.TypeFor[management.Stamp](),
	management.Object: reflect.TypeFor[json.RawMessage](), management.Array: reflect.TypeFor[json.RawMessage](), management.Any: reflect.TypeFor[json.RawMessage](),
	management.TextList: reflect.TypeFor[[]string](), management.IntList: reflect.TypeFor[[]int64](), management.ObjectList: reflect.TypeFor[[]json.RawMessage](),
}

// memberCache caches the result of membersOf by reflect.Type, as map[string][]int.
var memberCache sync.Map

// membersOf returns the indexes of a struct's members by their JSON names. Of members with the same
// name the least nested counts, as in encoding/json.
func membersOf(t reflect.Type) map[string][]int {
	if cached, ok := memberCache.Load(t); ok {
		return cached.(map[string][]int)
	}
	out := map[string][]int{}
	for _, m := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(m.Tag.Get("json"), ",")
		if outer, exists := out[name]; name != "" && (!exists || len(m.Index) < len(outer)) {
			out[name] = m.Index
		}
	}
	memberCache.Store(t, out)
	return out
}

// Apply sets the members of the struct that target points to from the values of a body. Members are
// found by their JSON names, which are the names of the fields. Fields that are absent and Custom
// fields are skipped, and null sets the zero value. The struct must fit the table: see checkFit.
func Apply(f management.Fields, v management.Values, target any) {
	dest := reflect.ValueOf(target).Elem()
	members := membersOf(dest.Type())
	for i := range f {
		value, present := v[f[i].Name]
		if !present || f[i].Custom {
			continue
		}
		member := dest.FieldByIndex(members[f[i].Name])
		if when, isTime := value.(time.Time); isTime {
			value = management.NewStamp(when)
		}
		switch {
		case value == nil:
			member.SetZero()
		case member.Kind() == reflect.Pointer:
			member.Set(reflect.New(member.Type().Elem()))
			member.Elem().Set(reflect.ValueOf(value))
		default:
			member.Set(reflect.ValueOf(value))
		}
	}
}

// checkFit returns an error if a field that is not Custom has no member in the struct type t, or
// one of another type than memberTypes.
func checkFit(f management.Fields, t reflect.Type) error {
	members := membersOf(t)
	for i := range f {
		if f[i].Custom {
			continue
		}
		index, present := members[f[i].Name]
		if !present {
			return fmt.Errorf("%v has no member for the field %s", t, f[i].Name)
		}
		member := t.FieldByIndex(index).Type
		if member.Kind() == reflect.Pointer {
			member = member.Elem()
		}
		if member != memberTypes[f[i].Type] {
			return fmt.Errorf("the field %s is stored as %v and not as %v", f[i].Name, memberTypes[f[i].Type], member)
		}
	}
	return nil
}
