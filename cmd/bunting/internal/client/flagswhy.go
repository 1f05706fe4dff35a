package client

import (
	"cmp"
	"context"
	"fmt"

	"github.com/bunting-flags/bunting/cmd/bunting/internal/cli"
)

// explanation is what is read of the server's answer.
type explanation struct {
	Person *struct {
		UUID string `json:"uuid"`
		Name string `json:"name"`
	} `json:"person"`
	Text string `json:"text"`
}

// whyFlag asks the server why somebody has a flag's value.
func whyFlag(m *manager) runner {
	distinctID, person := m.fs.String("distinct-id", "", ""), m.fs.String("person", "", "")
	var properties, groups cli.Texts
	m.fs.Var(&properties, "property", "")
	m.fs.Var(&groups, "group", "")
	return func(ctx context.Context, m *manager, args []string) error {
		if (*distinctID == "") == (*person == "") {
			return cli.BadUsage("flags", "why: for whom? give --distinct-id ID or --person UUID")
		}
		persons, err := cli.Properties("flags", properties)
		if err != nil {
			return err
		}
		body := map[string]any{"person_properties": persons}
		if body["groups"], err = cli.Groups("flags", groups); err != nil {
			return err
		}
		if *person != "" {
			body["person_id"] = *person
		} else {
			body["distinct_id"] = *distinctID
		}
		return m.explain(ctx, args[0], *distinctID, body)
	}
}

// explain asks why a flag has its value, and prints the answer.
func (m *manager) explain(ctx context.Context, key, distinctID string, body any) error {
	var e explanation
	if printed, err := m.fetch(ctx, "POST", m.flagsPath(pathPart(key)+"/explain/"), body, &e); printed || err != nil {
		return err
	}
	about := fmt.Sprintf("nobody has the distinct id %q: decided as for somebody of whom nothing is stored\n", distinctID)
	if e.Person != nil {
		about = fmt.Sprintf("person %s, %s\n", e.Person.UUID, cli.Cell(cmp.Or(e.Person.Name, "without a name")))
	}
	return m.Print(about + e.Text)
}
