// SPDX-License-Identifier: Apache-2.0
import { Component, render } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import "./style.css";
import { Problem } from "./parts.jsx";
import { useRoute } from "./route.js";
import { resume, signIn, signOut, useSession } from "./session.js";
import { Explore } from "./views/explore.jsx";
import { Model } from "./views/model.jsx";
import { useTheme } from "./theme.js";

// [path, title, where its code is], in the order of the menu; the others come when they are wanted.
const VIEWS = [
  ["models", "Models", Explore],
  ["providers", "Providers", () => import("./views/providers.jsx")],
  ["receipts", "Jobs", () => import("./views/receipts.jsx")],
  ["money", "Money", () => import("./views/money.jsx")],
  ["serve", "Serve", () => import("./views/serve.jsx")],
  ["operator", "Operator", () => import("./views/operator.jsx"), "operator"],
];

function SignIn({ label, onDone }) {
  const [text, type] = useState("");
  const [error, set] = useState(null);
  const submit = async (event) => {
    event.preventDefault();
    try {
      await signIn(text.trim());
      type("");
      set(null);
      onDone?.();
    } catch (failed) {
      const isUnknown = failed.status === 401 && failed.code !== "token";
      set(isUnknown ? new Error("the gateway does not know this token") : failed);
    }
  };
  return (
    <form class="sign-in" onSubmit={submit}>
      <label>
        {label}{" "}
        <input
          id="token"
          type="password"
          autocomplete="off"
          spellcheck={false}
          required
          value={text}
          onInput={(event) => type(event.currentTarget.value)}
        />
      </label>
      <button type="submit">Sign in</button>
      <Problem error={error} />
    </form>
  );
}

/** One line on what is wrong with all of the page. */
function State() {
  const { gone, expired } = useSession();
  return (
    <div aria-live="polite">
      {gone && (
        <p class="notice bad" id="gone">
          The gateway does not answer. The page tries again; what you typed stays.
        </p>
      )}
      {expired && (
        <div class="notice bad" id="expired">
          <p>Your token is no longer accepted: sign in again. Nothing that you typed is lost.</p>
          <SignIn label="New token" />
        </div>
      )}
    </div>
  );
}

function Who() {
  const { account, token, expired } = useSession();
  if (!token) return <SignIn label="Token" />;
  if (expired) return null;
  return (
    <p class="who">
      {account ? `${account.name} (${account.role})` : "signed in"}{" "}
      <button type="button" onClick={signOut}>
        Sign out
      </button>
    </p>
  );
}

class Guard extends Component {
  static getDerivedStateFromError(error) {
    return { error };
  }
  render({ children }, { error }) {
    if (!error) return children;
    return (
      <Problem
        error={new Error(`this part of the page failed: ${error.message}. Load the page again.`)}
      />
    );
  }
}

/** A view whose code comes when it is wanted; a gateway that is away is asked again. */
function Later({ load, ...given }) {
  const [View, set] = useState(null);
  const [failed, fail] = useState(0);
  useEffect(() => {
    let left = false;
    load().then(
      (module) => !left && set(() => module.default),
      () => setTimeout(() => !left && fail((n) => n + 1), 2000),
    );
    return () => {
      left = true;
    };
  }, [failed]);
  if (View) return <View {...given} />;
  return (
    <p role="status" class="quiet">
      {failed ? "This part of the page has not come yet; trying again…" : "Loading…"}
    </p>
  );
}

function Main({ route }) {
  const [place = "models", ...rest] = route.parts;
  const view = VIEWS.find(([path]) => path === place);
  if (place === "models" && rest.length > 0)
    return <Model key={rest.join("/")} name={rest.join("/")} query={route.query} />;
  if (place === "receipts" && rest.length > 0) {
    return <Later key={rest[0]} load={() => import("./views/receipt.jsx")} id={rest[0]} />;
  }
  if (!view)
    return (
      <>
        <h1>Nothing here</h1>
        <p>
          There is no such part of this page. <a href="#/models">Models</a>
        </p>
      </>
    );
  const [path, , View] = view;
  return path === "models" ? <View query={route.query} /> : <Later key={path} load={View} />;
}

function App() {
  const route = useRoute();
  const { account } = useSession();
  const [theme, turn] = useTheme();
  const main = useRef();
  const isFirst = useRef(true);
  const place = route.parts.join("/");
  useEffect(() => {
    const view = VIEWS.find(([path]) => path === (route.parts[0] ?? "models"));
    document.title = `${route.parts.slice(1).join("/") || (view?.[1] ?? "Nothing here")} · Commensal`;
    // Whoever hears the page is told of the new part; not on the first one, which is read anyway.
    if (!isFirst.current) main.current?.focus();
    isFirst.current = false;
  }, [place]);
  const isHere = (path) => (route.parts[0] ?? "models") === path;
  return (
    <>
      <a
        class="skip"
        href="#main"
        onClick={(event) => {
          event.preventDefault();
          main.current.focus();
        }}
      >
        To the content
      </a>
      <header>
        <nav aria-label="parts of the page">
          <a class="brand" href="#/models">
            Commensal
          </a>
          {VIEWS.filter(([, , , role]) => !role || account?.role === role).map(([path, title]) => (
            <a href={`#/${path}`} aria-current={isHere(path) ? "page" : undefined}>
              {title}
            </a>
          ))}
        </nav>
        <div class="side">
          <Who />
          <button type="button" onClick={turn} aria-label={`colours: ${theme}; change`}>
            {theme}
          </button>
        </div>
      </header>
      <State />
      <main ref={main} tabIndex={-1} id="main">
        <Guard key={place}>
          <Main route={route} />
        </Guard>
      </main>
    </>
  );
}

resume();
render(<App />, document.getElementById("app"));
