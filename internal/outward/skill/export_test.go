package skill

// Connected reports whether the client has a session.
func (c *Client) Connected() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.session != nil
}

// LastFailure is why the last try failed; nil = it did not.
func (c *Client) LastFailure() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failed
}
