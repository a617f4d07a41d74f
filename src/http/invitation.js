// Accepts an invitation with the token behind the # of the address, which no server and no proxy sees
// until then.
const told = document.getElementById("told");
const form = document.getElementById("accept");
const token = location.hash.slice(1);

// Neither the history of the browser nor somebody behind the chair is to read it.
history.replaceState(null, "", location.pathname);

if (token.startsWith("axi_")) {
  told.textContent = "Choose how you are called and what you sign in with.";
  form.hidden = false;
} else {
  told.textContent = "This address holds no invitation: open the whole link that you were given.";
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const button = form.querySelector("button");
  button.disabled = true;
  told.textContent = await accept(form.elements.name.value, form.elements.password.value);
  button.disabled = false;
});

// What became of it, in words.
async function accept(name, password) {
  try {
    const answer = await fetch("v1/invitations/accept", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ token, name, password }),
    });
    const body = await answer.json();
    if (!answer.ok) return [body.title, body.detail, body.hint].join(". ");
    form.hidden = true;
    return `${body.email} is a member of the team ${body.team}. You can sign in now.`;
  } catch {
    return "The server gave no answer that can be read. Try again.";
  }
}
