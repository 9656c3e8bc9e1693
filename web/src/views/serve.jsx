// SPDX-License-Identifier: Apache-2.0
// A provider's way in, in three steps.
import { amount } from "../format.js";
import { Command } from "../parts.jsx";
import { api, useAnswer } from "../session.js";

export default function Serve() {
  const found = useAnswer((options) => api.get("/v1/ledger", options), []);
  const terms = found.data?.terms;
  const hasStake = terms && terms.stake_min !== "0";
  const key = found.data?.operator ?? "0x…";
  return (
    <>
      <h1>Serve with your machine</h1>
      <ol class="steps">
        <li>
          <h2>Install</h2>
          <p>On Debian 12, with the package that this gateway's operator gives you:</p>
          <Command text="sudo apt install ./commensal_*.deb" />
        </li>
        <li>
          <h2>Connect</h2>
          <p>
            The provider dials out: no port of yours is opened.{" "}
            {key === "0x…" && "Sign in to see the gateway's key."} The port is 8090 unless the
            operator says otherwise.
          </p>
          <Command
            text={`commensal provider --gateway ${location.hostname}:8090 --gateway-key ${key}`}
          />
          {hasStake && (
            <p>
              It locks a stake of at least {amount(terms.stake_min)}
              {terms.test_money && ", of test money that newcomers on loopback are given"}.
            </p>
          )}
        </li>
        <li>
          <h2>Watch</h2>
          <p>
            What it serves and earns is under <a href="#/providers">Providers</a>, by its address;
            tickets that won are paid by themselves.
          </p>
          <Command text="commensal tickets --data-dir ~/.local/state/commensal/provider" />
          <p>
            A service keeps them elsewhere:{" "}
            <code>
              sudo -u commensal-provider commensal tickets --data-dir /var/lib/commensal-provider
            </code>
          </p>
        </li>
      </ol>
      <p class="quiet">
        Beside work of your own a governor slows the guest so that the host comes first: add{" "}
        <code>--host auto</code>. With <code>--show-host</code> and{" "}
        <code>--host-income-per-hour N</code> the charts there have the host's rate and income
        beside the guest's, for everybody who has an account here.{" "}
        <code>commensal provider --help</code> has the rest.
      </p>
    </>
  );
}
