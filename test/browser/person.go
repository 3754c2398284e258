package browser

import "github.com/chromedp/chromedp"

// Ann is who sits there.
const (
	Email    = "ann@example.com"
	Password = "honey in the morning"
)

// SignUp uses a link that works once, and ends at home.
func (b *Tab) SignUp(link string) {
	b.T.Helper()
	b.Do(
		chromedp.Navigate(link),
		chromedp.SendKeys(`input[name="name"]`, "Ann"),
		chromedp.Clear(`input[name="email"]`),
		chromedp.SendKeys(`input[name="email"]`, Email),
		chromedp.SendKeys(`input[name="password"]`, Password),
		Leads(chromedp.Click(`button[type="submit"]`)),
		chromedp.WaitVisible(`#calls-title`),
	)
}

// SignIn fills in the page that one gets to see who is not signed in.
func (b *Tab) SignIn() {
	b.T.Helper()
	b.Await("the sign-in page comes", `document.readyState === "complete" && location.pathname === "/signin"`)
	b.Do(
		chromedp.SendKeys(`input[name="email"]`, Email),
		chromedp.SendKeys(`input[name="password"]`, Password),
		Leads(chromedp.Click(`form[action="/signin"] button[type="submit"]`)),
	)
}
