package verify

import (
	"github.com/beeos/beeos/internal/store/builtins"
	"github.com/beeos/beeos/internal/store/cluster"
	"github.com/beeos/beeos/internal/store/database"
	"github.com/beeos/beeos/internal/store/notifications"
	"github.com/beeos/beeos/internal/store/webhooks"
	"github.com/beeos/beeos/internal/wire/seal"
)

// sealed is a secret, with the words of which its place is made.
type sealed struct {
	id, skill, resource string
	text                []byte
}

func sealedFields(s *sealed) []any { return []any{&s.id, &s.skill, &s.resource, &s.text} }

// sealedKinds are the kinds of secrets: the key that seals them, where they stand,
// and the place that each is sealed for.
var sealedKinds = []struct {
	key, what, query string
	place            func(*sealed) string
}{
	{
		webhooks.SealedWith, "credentials", "SELECT id, '', '', sealed FROM webhooks ORDER BY id",
		func(s *sealed) string { return s.id },
	},
	{
		notifications.SealedWith, "secrets", "SELECT id, '', '', sealed FROM notification_channels ORDER BY id",
		func(s *sealed) string { return s.id },
	},
	{
		builtins.SealedWith, "secrets", "SELECT id, '', '', sealed FROM builtin_agents ORDER BY id",
		func(s *sealed) string { return s.id },
	},
	{
		builtins.SealedWith, "token", "SELECT builtin_id, skill, resource, sealed FROM skill_tokens ORDER BY builtin_id, skill, resource, issuer",
		func(s *sealed) string { return builtins.TokenPlace(s.id, s.skill, s.resource) },
	},
	{
		cluster.CertificatesSealedWith, "certificate", "SELECT name, '', '', sealed FROM certificates ORDER BY name",
		func(s *sealed) string { return cluster.CertificatePlace(s.id) },
	},
	{
		builtins.SealedWith, "consent", "SELECT builtin_id, skill, '', sealed FROM skill_consents ORDER BY builtin_id, skill",
		func(s *sealed) string { return builtins.ConsentPlace(s.id, s.skill) },
	},
}

// checkSecrets opens everything that is sealed, and shows nothing of it.
func (c *checker) checkSecrets() (string, error) {
	opened := 0
	for _, kind := range sealedKinds {
		rows, err := list(c, sealedFields, kind.query)
		if err != nil {
			return "", err
		}
		if len(rows) == 0 {
			continue
		}
		key, err := database.GetValue[[]byte](c.ctx, c.tx, "read the key", "SELECT value FROM secrets WHERE name = $1", kind.key)
		if err != nil {
			return "", err
		}
		sealer, err := seal.New(key)
		if err != nil { // without the key none of them opens
			c.find(kind.key, "the key that seals the %s of %d rows is not there, or is not usable", kind.what, len(rows))
			continue
		}
		for i := range rows {
			if _, err := sealer.Open(rows[i].text, kind.place(&rows[i])); err != nil {
				c.find(rows[i].id, "its %s cannot be opened: %v", nameSecret(kind.what, &rows[i]), err)
			}
			opened++
		}
	}
	return count(opened, "sealed secret"), c.checkSigningKeys()
}

func nameSecret(what string, s *sealed) string {
	if s.skill == "" {
		return what
	}
	return what + " of skill " + s.skill
}

// checkSigningKeys: without one, every token that people were given is void.
func (c *checker) checkSigningKeys() error {
	ids, err := database.ListTexts(c.ctx, c.tx, "read signing keys", "SELECT id FROM oauth_keys WHERE length(secret) = 0 ORDER BY id")
	for _, id := range ids {
		c.find(id, "the signing key is empty")
	}
	return err
}
