package house

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// picture parses the floors of ARCHITECTURE.md's picture, the highest first: after the bar, a line
// lists the rooms of a floor by the ends of their paths. A floor may continue in lines without a
// name.
func picture(t *testing.T) (floors [][]string) {
	t.Helper()
	page, err := os.ReadFile("../../../ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(page), "```text\n")
	text, _, _ = strings.Cut(text, "```")
	line := regexp.MustCompile(`^ *(\S.*?)? *│ *(.*)$`)
	for l := range strings.Lines(text) {
		parts := line.FindStringSubmatch(strings.TrimRight(l, "\n"))
		switch {
		case parts == nil:
			t.Errorf("the picture has a line without a bar: %q", l)
		case parts[1] != "":
			floors = append(floors, strings.Fields(parts[2]))
		default:
			floors[len(floors)-1] = append(floors[len(floors)-1], strings.Fields(parts[2])...)
		}
	}
	return floors
}

// findRoom returns the room of the table with this path, or with a path that ends with it.
func findRoom(t *testing.T, short string) string {
	t.Helper()
	if _, there := table[short]; there {
		return short
	}
	var found []string
	for name := range table {
		if strings.HasSuffix(name, "/"+short) {
			found = append(found, name)
		}
	}
	if len(found) != 1 {
		t.Fatalf("the picture's %s is one of %v", short, found)
	}
	return found[0]
}

// The picture contains every room of the table exactly once, and every arrow of the table leads to
// a lower floor. The analyzer Imports compares the table with the code.
func TestPicture(t *testing.T) {
	floors := picture(t)
	floorOf := map[string]int{}
	for i, floor := range floors {
		for _, short := range floor {
			name := findRoom(t, short)
			if _, there := floorOf[name]; there {
				t.Errorf("the picture shows %s twice", name)
			}
			floorOf[name] = i
		}
	}
	for name, row := range table {
		from, there := floorOf[name]
		if !there {
			t.Errorf("the picture does not show %s", name)
			continue
		}
		for _, to := range slices.Concat(row.ours, []string{leaf}) {
			if below, there := floorOf[to]; there && below <= from && to != name {
				t.Errorf("the arrow from %s to %s does not lead down", name, to)
			}
		}
	}
}
