package store

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// released are the migrations that somebody's data may have gone through, in
// order. A new one goes to the end, with a number above all others: data that is
// at a later number already would be refused. What stands here never changes.
var released = []struct{ name, sum string }{
	{"0001_store.sql", "30d7ca22338442ea"},
	{"0002_ledger.sql", "dcf9716030b3837a"},
	{"0003_mcp.sql", "4eae0c872b71eea6"},
	{"0004_files.sql", "5c73e9ff4ea329d1"},
	{"0005_people.sql", "8108eeddfbeca74a"},
	{"0006_oauth.sql", "338af1a2c092aff9"},
	{"0007_tasks.sql", "e21a2c69cac9573c"},
	{"0008_quotas.sql", "6f57278ce74742ef"},
	{"0009_webhooks.sql", "91135eba8c16d8e7"},
	{"0010_skills.sql", "49b9cc00d6cddbbc"},
	{"0011_approvals.sql", "a3b6f06703fb6422"},
	{"0013_deliveries.sql", "4236f5e300c13a79"},
	{"0014_deployed.sql", "25c5f828ef7e16e6"},
	{"0016_steps.sql", "3129edd67be07a29"},
	{"0017_lanes.sql", "cae04b6f948ed576"},
	{"0019_skill_listings.sql", "b341a95d6f65bafa"},
	{"0020_mcp_sessions.sql", "968779af1b037a5c"},
	{"0021_conversations.sql", "4febe538a1121c01"},
	{"0022_agent_titles.sql", "144fc2eae31f453b"},
	{"0023_calls.sql", "98a15b1a2c8e2c30"},
	{"0024_steps.sql", "3e352e72b3e9689e"},
	{"0025_requests_by_route.sql", "3785607dd7d7aeb6"},
	{"0026_usage.sql", "6375db9e05b824f7"},
	{"0027_replays.sql", "146d9926dc688e8a"},
	{"0028_lists_of_owner.sql", "3a35e102becd39df"},
	{"0029_traces.sql", "5c2651e83193aba3"},
	{"0030_series.sql", "aa1c20413af900e0"},
	{"0031_secrets.sql", "65f9aad214b56273"},
	{"0032_budgets.sql", "14e451ff5eb6a0f7"},
	{"0033_find_by_index.sql", "cd0d1ba6978ae758"},
	{"0034_certificates.sql", "cc9d81cec59a623d"},
	{"0035_notifications.sql", "ad8ce8cb8d80727c"},
	{"0036_reviewers.sql", "d60f4d0bcd9ec3d2"},
}

func TestMigrationsRise(t *testing.T) {
	files, err := migrations.ReadDir("migrations")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != len(released) {
		t.Fatalf("%d migrations, %d of them listed here", len(files), len(released))
	}
	for i, f := range files {
		text, err := migrations.ReadFile("migrations/" + f.Name())
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(text)
		if got := hex.EncodeToString(sum[:8]); f.Name() != released[i].name || got != released[i].sum {
			t.Errorf("migration %d is %s (%s), want %s (%s): add a new one instead", i, f.Name(), got, released[i].name, released[i].sum)
		}
	}
}

// takesAway matches what a program that knows older tables would miss or trip over:
// a column without a default is one that it does not fill.
var (
	takesAway   = regexp.MustCompile(`(?i)\b(DROP (TABLE|COLUMN)|RENAME|ALTER COLUMN)\b|ADD COLUMN [^,;]*NOT NULL(?: *[,;]|$)`)
	uniqueIndex = regexp.MustCompile(`(?i)CREATE UNIQUE INDEX \w+ ON (\w+)`)
)

func findTakenAway(up string) string {
	for _, index := range uniqueIndex.FindAllStringSubmatch(up, -1) {
		if !strings.Contains(up, "CREATE TABLE "+index[1]+" ") { // of rows that older programs write
			return index[0]
		}
	}
	return takesAway.FindString(up)
}

// TestMigrationsServe: what comes after the tables that are still served adds to them
// and takes nothing away.
func TestMigrationsServe(t *testing.T) {
	served := false
	for _, m := range released {
		number, err := strconv.ParseInt(m.name[:4], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		served = served || number == oldestServed
		if number <= oldestServed {
			continue
		}
		text, err := migrations.ReadFile("migrations/" + m.name)
		if err != nil {
			t.Fatal(err)
		}
		up, _, _ := strings.Cut(string(text), "-- +goose Down")
		if found := findTakenAway(up); found != "" {
			t.Errorf("%s has %q: programs that know tables of version %d, which are served, may need what that changes; split it in two steps (docs/how-to/upgrading.md)", m.name, found, oldestServed)
		}
	}
	if !served {
		t.Errorf("there are no tables of version %d", oldestServed)
	}
	for sql, want := range map[string]bool{
		"ALTER TABLE a DROP COLUMN b;": true, "ALTER TABLE a ADD COLUMN b TEXT NOT NULL;": true, "DROP TABLE a;": true, "CREATE UNIQUE INDEX a ON b (c);": true,
		"ALTER TABLE a ADD COLUMN b TEXT NOT NULL DEFAULT '';": false, "CREATE TABLE a (b TEXT NOT NULL);": false, "DROP INDEX a;": false, "CREATE TABLE b (c TEXT); CREATE UNIQUE INDEX a ON b (c);": false,
	} {
		if (findTakenAway(sql) != "") != want {
			t.Errorf("%s: %t", sql, !want)
		}
	}
}
