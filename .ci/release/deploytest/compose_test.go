package deploytest

import (
	"maps"
	"slices"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
)

// The file is valid for Compose, with each of its profiles.
func TestCompose(t *testing.T) {
	for name, tt := range map[string]struct {
		profiles []string
		want     []string
	}{
		"one server": {nil, []string{"bunting"}},
		"PostgreSQL": {[]string{"postgres"}, []string{"bunting", "postgres"}},
		"NATS":       {[]string{"nats"}, []string{"bunting", "nats"}},
		"both":       {[]string{"nats", "postgres"}, []string{"bunting", "nats", "postgres"}},
	} {
		options, err := cli.NewProjectOptions([]string{"../../../cmd/bunting/compose.yaml"}, cli.WithProfiles(tt.profiles), cli.WithEnv([]string{"POSTGRES_PASSWORD=secret"}))
		if err != nil {
			t.Fatal(err)
		}
		project, err := options.LoadProject(t.Context())
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := slices.Sorted(maps.Keys(project.Services)); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
		server := project.Services["bunting"]
		if !server.ReadOnly || !slices.Equal(server.CapDrop, []string{"ALL"}) || server.Volumes[0].Target != "/data" || server.Volumes[0].Type != types.VolumeTypeVolume {
			t.Errorf("%s: %+v", name, server)
		}
		for depends, d := range server.DependsOn {
			if d.Required {
				t.Errorf("%s: the server needs %s, which has a profile", name, depends)
			}
		}
	}
}
