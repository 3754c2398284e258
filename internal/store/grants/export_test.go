package grants

const FamilyQuery = familyQuery

// Turn is held by the one who writes rotations.
func (tb *Table) Turn() chan struct{} { return tb.rotations.Turn }
