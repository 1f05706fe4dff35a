package client

import (
	"cmp"
	"context"
	"fmt"

	"github.com/bunting-flags/bunting/cmd/bunting/internal/cli"
)

type whyOptions struct {
	distinctID, person *string
	properties, groups cli.Texts
}

func whyFlagOptions(m *manager) any {
	o := &whyOptions{distinctID: m.fs.String("distinct-id", "", ""), person: m.fs.String("person", "", "")}
	m.fs.Var(&o.properties, "property", "")
	m.fs.Var(&o.groups, "group", "")
	return o
}

// explanation is what is read of the server's answer.
type explanation struct {
	Person *struct {
		UUID string `json:"uuid"`
		Name string `json:"name"`
	} `json:"person"`
	Text string `json:"text"`
}

// whyFlag asks the server why somebody has a flag's value.
func whyFlag(ctx context.Context, m *manager, args []string, options any) error {
	o := options.(*whyOptions)
	if (*o.distinctID == "") == (*o.person == "") {
		return cli.BadUsage("flags", "why: for whom? give --distinct-id ID or --person UUID")
	}
	properties, groups := map[string]any{}, map[string]string{}
	for _, s := range o.properties {
		name, value, err := cli.Property(s)
		if err != nil {
			return cli.BadUsage("flags", "--property: %v", err)
		}
		properties[name] = value
	}
	for _, s := range o.groups {
		name, key, err := cli.Group(s)
		if err != nil {
			return cli.BadUsage("flags", "--group: %v", err)
		}
		groups[name] = key
	}
	body := map[string]any{"person_properties": properties, "groups": groups}
	if *o.person != "" {
		body["person_id"] = *o.person
	} else {
		body["distinct_id"] = *o.distinctID
	}
	var e explanation
	if printed, err := m.fetch(ctx, "POST", m.flagsPath(pathPart(args[0])+"/explain/"), body, &e); printed || err != nil {
		return err
	}
	about := fmt.Sprintf("nobody has the distinct id %q: decided as for somebody of whom nothing is stored\n", *o.distinctID)
	if e.Person != nil {
		about = fmt.Sprintf("person %s, %s\n", e.Person.UUID, cli.Cell(cmp.Or(e.Person.Name, "without a name")))
	}
	return m.Print(about + e.Text)
}
