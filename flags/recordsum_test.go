package flags

import (
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"testing"
)

// A change of any field changes the sum of a flag: otherwise changes of a new field that was
// forgotten would not always be compiled. Exceptions are names, which are for people,
// encrypted payloads, which only affect serving, and the elements of a chain, of which only
// the presence matters.
func TestSums_SeeEveryField(t *testing.T) {
	rollout, index := 50.0, 0
	f := Flag{
		ID: 1, Key: "a", Version: 1, Active: true, Group: &index, Variants: []Variant{{Key: "v", Rollout: 100}}, Hash: SHA1, Runtime: "server",
		Payloads: map[string]json.RawMessage{"v": json.RawMessage(`1`)}, Holdout: &Holdout{ID: 1}, Contexts: []string{"web"},
		Conditions: []Condition{{Rollout: &rollout, Variant: "v", Aggregation: Aggregation{Set: true, Group: &index}, Properties: []Property{
			{Key: "p", Type: GroupProperty, Operator: Exact, Value: "x", HasValue: true, GroupType: &index, Chain: []string{}},
		}}},
	}
	var s sums
	checkEveryField(t, &f, 50, func() uint64 { return s.flag(&f) })
}

// The same for cohorts, which are compiled again if one of them changes.
func TestSums_SeeEveryFieldOfCohorts(t *testing.T) {
	leaf := CohortNode{Leaf: &Property{Key: "p", Type: PersonProperty, Operator: Exact, Value: "x", HasValue: true}}
	c := Cohort{Members: []string{"u1"}, Tree: &CohortNode{Children: []CohortNode{leaf, {Any: true, Children: []CohortNode{leaf}}}}}
	d := Definitions{StaticCohorts: []int64{3}}
	var s sums
	sum := func() uint64 {
		d.Cohorts = map[int64]Cohort{1: c, 2: {Static: true}}
		return s.cohorts(&d)
	}
	checkEveryField(t, &c, 30, sum)
	was := sum()
	d.StaticCohorts = nil
	if sum() == was {
		t.Error("static cohorts: the sum is the same")
	}
	leaf.Children = []CohortNode{{}}
	leaf.Children[0].Children = leaf.Children
	if c.Tree = &leaf; sum() != 0 {
		t.Error("a tree without an end has a sum")
	}
}

// A long list that was parsed is summed only at that time: the sum is that of its elements,
// even if a list before it is replaced.
func TestSums_OfListsThatWereRead(t *testing.T) {
	lists := []string{`["a","b","c","d","e","f","g","h"]`, `["1"]`, `[1,2,3,4,5,6,7,8,9,true,null,[1]]`, `["a","b","c","d","e","f","g","i"]`}
	properties := ""
	for i, list := range lists {
		properties += `,{"key":"p` + strconv.Itoa(i) + `","value":` + list + `}`
	}
	d, err := ParseDefinitions([]byte(`{"flags":[{"id":1,"key":"a","active":true,"filters":{"groups":[{"properties":[` + properties[1:] + `]}]}}]}`))
	if err != nil || len(d.Flags[0].lists) != 3 {
		t.Fatal(err, len(d.Flags[0].lists))
	}
	f := &d.Flags[0]
	read := f.lists
	var s sums
	same := func(step string) uint64 {
		t.Helper()
		f.lists = nil
		full := s.flag(f)
		if f.lists = read; s.flag(f) != full || full == 0 {
			t.Errorf("%s: the sum is another one", step)
		}
		return full
	}
	before := same("as it was read")
	p := f.Conditions[0].Properties
	p[0].Value = append(slices.Clone(p[0].Value.([]any)), "z")
	if same("the first is another") == before {
		t.Error("the sum of another list is the same")
	}
	p[2].Value = []any{"x"}
	same("the third is short")
}

// checkEveryField changes each field of the value that root points to, and of the values
// within it.
func checkEveryField(t *testing.T, root any, minFields int, sum func() uint64) {
	t.Helper()
	before, seen := sum(), 0
	if before == 0 {
		t.Fatal("there is no sum")
	}
	check := func(path string) {
		t.Helper()
		if seen++; sum() == before {
			t.Errorf("%s: the sum is the same", path)
		}
	}
	var walk func(path string, v reflect.Value)
	walk = func(path string, v reflect.Value) {
		old := reflect.New(v.Type()).Elem()
		old.Set(v)
		defer v.Set(old)
		switch v.Kind() {
		case reflect.Bool:
			v.SetBool(!v.Bool())
		case reflect.Int, reflect.Int64:
			v.SetInt(v.Int() + 1)
		case reflect.Float64:
			v.SetFloat(v.Float() + 0.001)
		case reflect.String:
			v.SetString(v.String() + "x")
		case reflect.Pointer:
			if v.IsNil() {
				v.Set(reflect.New(v.Type().Elem()))
				break
			}
			walk(path, v.Elem())
			v.SetZero()
		case reflect.Slice:
			if v.IsNil() {
				v.Set(reflect.MakeSlice(v.Type(), 1, 1))
				break
			}
			if v.Len() > 0 {
				walk(path+"[0]", v.Index(0))
				v.Set(reflect.Append(v, v.Index(0)))
				check(path + " longer")
			}
			v.SetZero()
		case reflect.Map:
			v.Set(reflect.ValueOf(map[string]json.RawMessage{"v": json.RawMessage(`2`)}))
			check(path + " other")
			v.Set(reflect.ValueOf(map[string]json.RawMessage{"w": json.RawMessage(`1`)}))
		case reflect.Struct:
			for i := range v.NumField() {
				field := v.Type().Field(i)
				if field.IsExported() && field.Name != "Name" && field.Name != "HasEncryptedPayloads" {
					walk(path+"."+field.Name, v.Field(i))
				}
			}
			return
		case reflect.Uint8: // part of a payload
			v.SetUint(v.Uint() + 1)
		case reflect.Interface:
			for _, value := range []any{nil, true, false, "y", json.Number("1"), int64(1), uint64(1), 1.0, []any{}, []any{"x"}, []any{[]any{"x"}}, map[string]any{}} {
				v.Set(reflect.ValueOf(&value).Elem())
				check(path)
			}
			return
		}
		check(path)
	}
	of := reflect.ValueOf(root).Elem()
	walk(of.Type().Name(), of)
	if seen < minFields {
		t.Errorf("only %d changes", seen)
	}
	if sum() != before {
		t.Error("the same has another sum")
	}
}
