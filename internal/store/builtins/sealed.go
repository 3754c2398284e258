package builtins

// SealedWith is the name of the key that seals what built-in agents must not
// show. An agent's own secrets are sealed for its id.
const SealedWith = "skills"

// TokenPlace is where the tokens of one skill are at home: sealed for it, they
// open nowhere else.
func TokenPlace(builtinID, skill, resource string) string {
	return "token " + builtinID + " " + skill + " " + resource
}

// ConsentPlace is the same of a consent under way.
func ConsentPlace(builtinID, skill string) string { return "consent " + builtinID + " " + skill }
