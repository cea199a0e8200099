"use client";
/** The page, whose cases and worker run in the browser. */
import { useEffect } from "react";

export default function Page() {
  useEffect(() => void import("../../main.mjs"), []);
  return <h1>Cases</h1>;
}
