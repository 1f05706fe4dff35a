package management

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"time"
)

// holds is what a member has to be into which a field of a type goes, or a pointer to
// it. Null makes it zero.
var holds = [...]reflect.Type{
	Text: reflect.TypeFor[string](), Email: reflect.TypeFor[string](), URL: reflect.TypeFor[string](), UUID: reflect.TypeFor[string](), Choice: reflect.TypeFor[string](),
	Int: reflect.TypeFor[int64](), IntChoice: reflect.TypeFor[int64](), Bool: reflect.TypeFor[bool](), Time: reflect.TypeFor[Stamp](),
	Object: reflect.TypeFor[json.RawMessage](), Array: reflect.TypeFor[json.RawMessage](), Any: reflect.TypeFor[json.RawMessage](),
	TextList: reflect.TypeFor[[]string](), IntList: reflect.TypeFor[[]int64](), ObjectList: reflect.TypeFor[[]json.RawMessage](),
}

// members are the members of structs by their JSON names, by type: map[string][]int.
var members sync.Map

func membersOf(t reflect.Type) map[string][]int {
	if known, ok := members.Load(t); ok {
		return known.(map[string][]int)
	}
	out := map[string][]int{}
	for _, m := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(m.Tag.Get("json"), ",")
		if outer, there := out[name]; name != "" && (!there || len(m.Index) < len(outer)) {
			out[name] = m.Index
		}
	}
	members.Store(t, out)
	return out
}

// Lay puts the values of a body into the members of a struct that have the fields'
// names in JSON. What is not there stays, null is the zero value; Ruled fields are
// passed over. The table has to fit the struct: see fit.
func (f Fields) Lay(v Values, onto any) {
	to := reflect.ValueOf(onto).Elem()
	members := membersOf(to.Type())
	for i := range f {
		value, there := v[f[i].Name]
		if !there || f[i].Ruled {
			continue
		}
		member := to.FieldByIndex(members[f[i].Name])
		if at, is := value.(time.Time); is {
			value = At(at)
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

// fit reports a row that is not Ruled and has no member where it could be put.
func (f Fields) fit(t reflect.Type) error {
	members := membersOf(t)
	for i := range f {
		if f[i].Ruled {
			continue
		}
		index, there := members[f[i].Name]
		if !there {
			return fmt.Errorf("%v has no member for the field %s", t, f[i].Name)
		}
		member := t.FieldByIndex(index).Type
		if member.Kind() == reflect.Pointer {
			member = member.Elem()
		}
		if member != holds[f[i].Type] {
			return fmt.Errorf("the field %s is kept as %v and not as %v", f[i].Name, holds[f[i].Type], member)
		}
	}
	return nil
}
